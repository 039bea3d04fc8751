import Foundation
import PealHub
import PealModel

/// `peal hub backup` and `peal hub restore`.
enum HubBackupCommand {
    static let backup = Command(
        name: "backup", summary: "copy a hub's file, also while the hub runs",
        discussion: """
            The copy is of one moment, whole and on the disk when the command ends, and holds the projects' secrets: keep it like the file.
            Ctrl-C stops it and leaves nothing.
            """,
        operands: [Operand(name: "TO", help: "the file to make; it must not be there", kind: .file)],
        options: [HubCommand.directory, HubCommand.store, json],
        examples: ["peal hub backup /backups/hub-$(date +%F).sqlite"],
        takesProfile: false,
        run: { arguments in
            try await run(arguments, "backup") { (path, other, progress) throws(HubError) in
                let bytes = try HubBackup.copy(path, to: other, progress: progress)
                return [("file", .text(other)), ("bytes", .number(bytes))]
            }
        })

    static let restore = Command(
        name: "restore", summary: "put a backup in the place of a hub's file; stop the hub first",
        discussion: """
            The backup is looked through for damage first, and the file that was there is kept beside it. Devices notice by themselves that
            the hub went back, load a snapshot and send again what the backup lacks (docs/operations.md, "Restoring a backup").
            """,
        operands: [Operand(name: "FROM", help: "the backup", kind: .file)],
        options: [HubCommand.directory, HubCommand.store, json],
        examples: ["systemctl stop peal-hub && peal hub restore /backups/hub.sqlite && systemctl start peal-hub"],
        takesProfile: false,
        run: { arguments in
            try checkStore(arguments)
            let directory = arguments.value("directory") ?? "hub"
            try HubCommand.makeDirectory(directory)
            return try await run(arguments, "restore") { (path, other, progress) throws(HubError) in
                let kept = try HubBackup.restore(other, to: path, progress: progress)
                return [("file", .text(path))] + (kept.map { [("kept", .text($0))] } ?? [])
            }
        })

    private static let json = Option(name: "json", value: nil, help: "progress and result as JSON, one object a line")

    private enum Value {
        case text(String)
        case number(Int64)

        var description: String {
            switch self {
            case .text(let text): text
            case .number(let number): "\(number)"
            }
        }

        var json: String {
            switch self {
            case .text(let text): String(decoding: JSON.string(text).bytes, as: UTF8.self)
            case .number(let number): "\(number)"
            }
        }
    }

    private typealias Work =
        @Sendable (
            _ path: String, _ other: String, _ progress: (HubBackup.Progress) -> Bool
        ) throws(HubError) -> [(String, Value)]

    private static func checkStore(_ arguments: Arguments) throws(CommandError) {
        guard arguments.value("store") != nil else { return }
        throw CommandError(
            code: .usage, message: "This copies a hub's file; a hub's database is copied by PostgreSQL's own tools.",
            hint: "Use pg_dump and pg_restore (docs/postgresql.md).")
    }

    private static func run(_ arguments: Arguments, _ verb: String, _ work: @escaping Work) async throws -> ExitCode {
        try checkStore(arguments)
        let path = (arguments.value("directory") ?? "hub") + "/hub.sqlite"
        let other = arguments.operands[0]
        let asJSON = arguments.has("json")
        let (result, wasStopped) = await LongWork.run { (step) throws(HubError) in
            try work(path, other) { progress in step { show(progress, asJSON) } }
        }
        switch result {
        case .success(let facts):
            if asJSON {
                Output.line("{" + facts.map { "\"\($0.0)\":\($0.1.json)" }.joined(separator: ",") + "}")
            } else {
                for (name, value) in facts { Output.line("\(Output.fit(name, 6)) \(value.description)") }
            }
            if verb == "restore" {
                Output.remark("Start the hub; devices notice by themselves, and there is nothing to do on them.")
            }
            return .success
        case .failure(let error):
            if wasStopped {
                throw CommandError(code: .interrupted, message: "Stopped; nothing was changed.")
            }
            let isThere = FileManager.default.fileExists(atPath: path)
            throw CommandError(
                code: .failure, message: "The \(verb) was not done: \(error.message).",
                hint: verb == "backup" && !isThere ? "Give the hub's --directory." : nil)
        }
    }

    private static func show(_ progress: HubBackup.Progress, _ asJSON: Bool) {
        if asJSON { return Output.line(#"{"copied":\#(progress.copied),"total":\#(progress.total)}"#) }
        guard progress.total > 0 else { return Output.remark("looking through the copy for damage") }
        Output.remark("\(progress.copied * 100 / progress.total) % of \(progress.total) pages")
    }
}
