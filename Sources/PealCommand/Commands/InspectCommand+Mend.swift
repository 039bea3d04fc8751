import Foundation
import PealModel
import PealReplica

/// `peal inspect redact`, `repair`, `retry`, `discard`: what makes a file, or writes to one.
extension InspectCommand {
    static let redact = Command(
        name: "redact", summary: "make a copy without content, for somebody who may not see it",
        discussion: """
            Titles, texts, payloads, data, names, tokens, proofs and secrets are gone or replaced; positions, times, ids, authors and outcomes
            stay, so that every view and check gives the same answers. A damaged file is copied as far as it can be read.
            """,
        operands: [InspectFile.file],
        options: [
            Option(
                name: "output", short: "o", value: "COPY", help: "where; nothing may be there", kind: .file,
                isConfigurable: false), InspectFile.json,
        ],
        examples: ["peal inspect redact id-%4dary.peal -o for-support.peal"],
        run: { arguments in
            let target = try arguments.required("output", "Say where the copy goes: -o COPY.")
            let file = try InspectFile(arguments.operands[0])
            let tables = try made(target) { () throws(ReplicaError) in try file.reader.redact(to: target) }
            report(tables, target, arguments)
            return tables.allSatisfy(\.isWhole) ? file.end() : lost(file)
        })

    private static func lost(_ file: InspectFile) -> ExitCode {
        Output.note("peal: \(file.path) is damaged: what the table says cannot be read is not in the new file.")
        return .badFile
    }

    static func made<R>(_ target: String, _ body: () throws(ReplicaError) -> R) throws(CommandError) -> R {
        do throws(ReplicaError) {
            return try body()
        } catch {
            if error.code == .cantOpen {
                throw CommandError(
                    code: .failure, message: Output.safe(error.message), hint: "Choose another name with --output.")
            }
            throw CommandError(
                code: .badFile, message: Output.safe(error.message), hint: "`peal inspect verify` says what is wrong.")
        }
    }

    private static func report(_ tables: [SalvagedTable], _ target: String, _ arguments: Arguments) {
        if arguments.has("json") {
            Output.line(
                InspectFile.object { writer in
                    writer.member("file", target)
                    write(tables, to: &writer)
                })
            return
        }
        show(tables)
        Output.line("\(Output.safe(target)) is made")
    }

    private static func show(_ tables: [SalvagedTable]) {
        for table in tables where table.rows > 0 || !table.isWhole {
            var line = Output.fit(table.name, 18) + "\(table.rows) rows"
            if table.refused > 0 { line += ", \(table.refused) hold what no row can and are left out" }
            if let problem = table.problem { line += ", the others cannot be read: \(Output.safe(problem))" }
            Output.line(line)
        }
    }

    private static func write(_ tables: [SalvagedTable], to writer: inout JSONWriter) {
        writer.key("tables")
        writer.beginArray()
        for table in tables {
            writer.beginObject()
            writer.member("name", table.name)
            writer.member("rows", table.rows)
            writer.member("refused", table.refused)
            writer.member("problem", table.problem)
            writer.endObject()
        }
        writer.endArray()
    }

    // MARK: Repair

    static let repair = Command(
        name: "repair", summary: "make a new file out of what can be read of a damaged one",
        discussion: """
            FILE is only read; what can be read of it goes into FILE.repaired, row by row, and indexes, counts and overlay are made anew. Acts that
            wait are taken over as they are; how many, and what could not be read, is said. The replica stays the same one: where items are
            lost it asks its hub for a snapshot in the next session, and where acts that had been sent are lost their numbers go as voids.
            It asks before; --yes answers. Afterwards it verifies the new file and says how to put it in place.
            """,
        operands: [InspectFile.file],
        options: [
            Option(name: "output", short: "o", value: "COPY", help: "where (FILE.repaired); nothing may be there"),
            Option(name: "yes", short: "y", value: nil, help: "do not ask", isConfigurable: false), InspectFile.json,
        ],
        examples: ["peal inspect repair id-%4dary.peal", "peal inspect repair --yes id-%4dary.peal -o mended.peal"],
        run: repair)

    private static func repair(_ arguments: Arguments) async throws -> ExitCode {
        let path = arguments.operands[0]
        let target = arguments.value("output") ?? path + ".repaired"
        let file = try InspectFile(path)
        if !arguments.has("yes") {
            guard isatty(0) == 1 else {
                throw CommandError(
                    code: .usage,
                    message: "This makes \(Output.safe(target)) and asks before; standard input is no terminal.",
                    hint: "Give --yes.")
            }
            let survey = FileSurvey(path)
            for problem in survey.problems { Output.note(Output.safe(problem)) }
            if survey.problems.isEmpty { Output.note("Nothing is known to be wrong with the file.") }
            Output.note("Make \(Output.safe(target)) of what can be read? \(Output.safe(path)) is not changed. [y/N]")
            guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
                throw CommandError(code: .failure, message: "Nothing was made.", hint: nil)
            }
        }
        let found = try made(target) { () throws(ReplicaError) in try file.reader.repair(to: target) }
        let verified: Verification
        do throws(ReplicaError) {
            verified = try ReplicaReader(inspecting: target).verify()
        } catch {
            throw CommandError(code: .failure, message: "The new file cannot be read back: \(error.message)", hint: nil)
        }
        if arguments.has("json") {
            json(found, target, verified)
        } else {
            show(found, path, target, verified)
        }
        return verified.isClean || found.wantsSnapshot ? .success : .badFile
    }

    private static func show(_ found: Repair, _ path: String, _ target: String, _ verified: Verification) {
        show(found.tables)
        var outbox = "The outbox has \(found.acts) acts, as they were"
        if found.setAside > 0 {
            outbox += "; \(found.setAside) of them could not be read back and are dead letters now"
        }
        Output.line(outbox + ".")
        if let table = found.tables.first(where: { $0.name == "outbox" }), !table.isWhole {
            Output.line("Some acts of the outbox could not be read: what was done in them is lost.")
        }
        if !found.voided.isEmpty {
            Output.line(
                "Sent and lost: numbers \(found.voided.prefix(20).map(String.init).joined(separator: ", ")); they go as voids, "
                    + "so that what is behind them goes on. If the hub had one already, the replica takes a new id and offers the rest again."
            )
        }
        if found.droppedSnapshot { Output.line("A snapshot that was being loaded is loaded anew.") }
        if found.wantsSnapshot {
            Output.line(
                "The items are not all here, or not as they were: the replica asks its hub for a snapshot in the next session."
            )
        }
        let failed = verified.checks.filter(\.isFailure).map(\.name)
        Output.line(
            failed.isEmpty
                ? "Every check of the new file passes."
                : "Checks of the new file that fail\(found.wantsSnapshot ? " until that snapshot is there" : ""): \(failed.joined(separator: ", "))."
        )
        Output.line(
            "To use it: stop the app, keep \(quoted(path)) somewhere, remove \(quoted(path + "-wal")) and \(quoted(path + "-shm")), "
                + "then: mv \(quoted(target)) \(quoted(path))")
    }

    private static func json(_ found: Repair, _ target: String, _ verified: Verification) {
        Output.line(
            InspectFile.object { writer in
                writer.member("file", target)
                write(found.tables, to: &writer)
                writer.member("acts", found.acts)
                writer.member("setAside", found.setAside)
                writer.key("voided")
                writer.beginArray()
                for n in found.voided { writer.int(n) }
                writer.endArray()
                writer.member("wantsSnapshot", found.wantsSnapshot)
                writer.member("droppedSnapshot", found.droppedSnapshot)
                writer.member("clean", verified.isClean)
                writer.strings("failed", verified.checks.filter(\.isFailure).map(\.name))
            })
    }

    // MARK: Dead letters

    static let retry = letters(
        "retry", "make dead letters again, as new acts", "It is sent in the app's next session.")
    static let discard = letters(
        "discard", "forget dead letters, or acts that were not sent",
        "What was sent and is not dead cannot be taken back.")

    private static func letters(_ name: String, _ summary: String, _ discussion: String) -> Command {
        Command(
            name: name, summary: summary,
            discussion: """
                \(discussion) This writes to FILE, and only while nobody drives its session: where the app runs, stop it,
                or use `peal outbox \(name)` beside it.
                """,
            operands: [
                Operand(name: "UID", help: "as `peal inspect dead` shows it, or 'dead' for every dead letter"),
                InspectFile.file,
            ],
            options: [InspectFile.json],
            examples: [
                "peal inspect \(name) 00c5a1e0f3b2d417 id-%4dary.peal", "peal inspect \(name) dead id-%4dary.peal",
            ],
            run: { arguments in try carryOut(name, arguments) })
    }

    private static func carryOut(_ action: String, _ arguments: Arguments) throws -> ExitCode {
        let (word, path) = (arguments.operands[0], arguments.operands[1])
        let uid = Hex64.parse(word)
        guard uid != nil || word == "dead" else {
            throw CommandError.usage("'\(word)' is no uid: 16 hexadecimal digits, as `peal inspect dead` shows them.")
        }
        let file = try InspectFile(path)
        guard file.reader.problems.isEmpty else {
            _ = file.end()
            throw CommandError(code: .badFile, message: "Nothing is written to a file that is not whole.", hint: nil)
        }
        guard let lease = try Lease.take(path: path) else {
            throw CommandError(
                code: .failure, message: "\(Output.safe(path)) is in use: an app drives its session.",
                hint:
                    "Stop the app and try again, or let it be done beside it: `peal outbox \(action) \(word)` with the app's --key and --user."
            )
        }
        defer { lease.release() }
        let replica = try Replica.open(path)
        let uids = try uid.map { [$0] } ?? replica.outbox().filter { $0.state == .dead }.map(\.id)
        for uid in uids {
            let new = action == "retry" ? try replica.retry(uid) : try replica.discard(uid) ? uid : nil
            guard let new else {
                throw CommandError(
                    code: .failure,
                    message: "\(Hex64.text(uid)) cannot be \(action == "retry" ? "retried" : "discarded").",
                    hint: action == "retry"
                        ? "Only a dead letter that can be read is retried: `peal inspect dead` shows them."
                        : "What was sent and is not dead cannot be taken back: `peal inspect outbox` shows how far each is."
                )
            }
            show(action, uid, new, arguments)
        }
        if uids.isEmpty, !arguments.has("json") { Output.line("No dead letters") }
        return .success
    }

    private static func show(_ action: String, _ uid: UInt64, _ new: UInt64, _ arguments: Arguments) {
        if arguments.has("json") {
            Output.line(
                InspectFile.object { writer in
                    writer.member("uid", Hex64.text(uid))
                    writer.member("done", action)
                    if action == "retry" { writer.member("new", Hex64.text(new)) }
                })
        } else {
            Output.line(
                action == "retry"
                    ? "\(Hex64.text(uid)) is made again as \(Hex64.text(new))" : "\(Hex64.text(uid)) is discarded")
        }
    }
}
