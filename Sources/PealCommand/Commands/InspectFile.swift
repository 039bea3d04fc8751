import Foundation
import PealModel
import PealReplica

/// What the views of `peal inspect` share: opening a file whatever is wrong with it, pages, and how they end.
struct InspectFile {
    static let file = Operand(name: "FILE", help: "a .peal file", kind: .file)
    static let json = Option(name: "json", value: nil, help: "JSON, one object a line")
    static let content = Option(
        name: "content", value: nil,
        help: "also show what people wrote and what things are called; never tokens or proofs")
    static let pages = [
        Option(name: "limit", value: "N", help: "rows, 1 to 1000 (50)"),
        Option(name: "after", value: "N", help: "go on after this row of the page before"),
    ]

    let reader: ReplicaReader
    let path: String

    /// Opens it.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/badFile``, which says what is wrong with the file.
    init(_ path: String) throws(CommandError) {
        self.path = path
        do throws(ReplicaError) {
            reader = try ReplicaReader(inspecting: path)
        } catch {
            throw Self.refusal(path, error)
        }
    }

    private static func refusal(_ path: String, _ error: ReplicaError) -> CommandError {
        let survey = FileSurvey(path)
        var lines = survey.problems
        if lines.isEmpty { lines = [error.message] }
        let give = "Give the path of a .peal file; `ls ~/.local/share/peal` shows those of this machine."
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
            return CommandError(code: .badFile, message: "\(Output.safe(path)) is a folder.", hint: give)
        }
        let hint =
            error.code == .cantOpen || error.isOfAnotherApplication
            ? give
            : "If it is a copy, copy it again, with \(path)-wal. Else `peal inspect repair` cannot read more of it than this: without "
                + "the file the hub sends all again, but acts that had not gone out are lost."
        return CommandError(code: .badFile, message: lines.map(Output.safe).joined(separator: "\n"), hint: hint)
    }

    /// Says on standard error what is known to be wrong with the file, and gives the exit code of a view.
    func end(_ failure: ReplicaError? = nil, _ view: String = "") -> ExitCode {
        if reader.hasChanged {
            Output.note("note: somebody wrote to the file while it was read. Run this again.")
        }
        for problem in reader.problems { Output.note("peal: \(Output.safe(problem))") }
        if let failure {
            Output.note("peal: \(path): \(view) cannot be read any further: \(Output.safe(failure.message)).")
        }
        guard failure != nil || !reader.problems.isEmpty else { return .success }
        Output.note("`peal inspect verify` says what is wrong; `peal inspect repair` makes a file of what can be read.")
        return .badFile
    }

    /// Shows a page: each row as a line, and where the next page goes on.
    func show<Row>(
        _ page: InspectedPage<Row>, _ view: String, _ arguments: Arguments, empty: String, head: String,
        row: (Row) -> String, json: (Row) -> String
    ) -> ExitCode {
        if arguments.has("json") {
            for found in page.rows { Output.line(json(found)) }
        } else {
            if page.rows.isEmpty, page.failure == nil { Output.line(empty) }
            if !page.rows.isEmpty { Output.line(head) }
            for found in page.rows { Output.line(Self.trimmed(row(found))) }
        }
        if let next = page.next { Output.note("There is more: --after \(next)") }
        return end(page.failure, view)
    }

    static func trimmed(_ line: String) -> String {
        var line = line
        while line.last == " " { line.removeLast() }
        return line
    }

    /// What the options of a page say.
    static func page(_ arguments: Arguments) throws(CommandError) -> (after: Int64?, limit: Int) {
        let limit = try arguments.int("limit", in: 1...ReplicaReader.maximumInspected, default: 50)
        guard let text = arguments.value("after") else { return (nil, limit) }
        guard let after = Int64(text) else { throw .usage("--after takes the number of a row.") }
        return (after, limit)
    }

    /// One JSON object.
    static func object(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        body(&writer)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
