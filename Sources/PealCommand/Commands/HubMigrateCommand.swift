#if PostgreSQL
    import PealHub
    import PealModel

    /// `peal hub migrate`.
    enum HubMigrateCommand {
        static let command = Command(
            name: "migrate", summary: "move a hub from its file to PostgreSQL; stop the hub first",
            discussion: """
                Everything moves with its numbers: devices go on where they were, and notice nothing but a pause. Each row is then compared. Ctrl-C
                stops it, and the same command goes on; until it is through, no hub starts on the database. In the end the file is
                kept as hub.sqlite.moved.
                """,
            options: [
                Option(
                    name: "from", value: "FILE",
                    help: "the hub's file, as sqlite:PATH or PATH (default: sqlite:hub/hub.sqlite)",
                    kind: .file, isConfigurable: false),
                Option(
                    name: "to", value: "ADDRESS", help: "the database, as postgresql://user@host/name",
                    environment: "PEAL_HUB_STORE", isConfigurable: false),
                Option(name: "json", value: nil, help: "progress and result as JSON, one object a line"),
            ],
            examples: [
                "systemctl stop peal-hub && peal hub migrate --from sqlite:/var/lib/peal/hub.sqlite --to postgresql://peal@db/peal"
            ], takesProfile: false, run: run)

        private static func run(_ arguments: Arguments) async throws -> ExitCode {
            let from = arguments.value("from") ?? "sqlite:hub/hub.sqlite"
            let path = from.hasPrefix("sqlite:") ? String(from.dropFirst(7)) : from
            let address = try arguments.required("to", "It names the database: postgresql://user@host/name.")
            let asJSON = arguments.has("json")
            let (result, wasStopped) = await LongWork.run { (step) throws(HubError) in
                try HubMigration.run(from: path, to: address) { progress in step { show(progress, asJSON) } }
            }
            switch result {
            case .success(let report):
                tell(report, asJSON)
                return .success
            case .failure(let error):
                throw CommandError(
                    code: wasStopped ? .interrupted : .failure, message: "The hub was not moved: \(error.message).",
                    hint: "The file is as it was. When that is mended, the same command begins, or goes on.")
            }
        }

        private static func show(_ progress: HubMigration.Progress, _ asJSON: Bool) {
            if asJSON {
                let table = String(decoding: JSON.string(progress.table).bytes, as: UTF8.self)
                return Output.line(#"{"table":\#(table),"done":\#(progress.done),"total":\#(progress.total)}"#)
            }
            let half = progress.total / 2
            let verb = progress.done < half ? "moved" : "compared"
            let rows = progress.done < half ? progress.done : progress.done - half
            Output.remark("\(verb) \(rows) of \(half) rows, at \(progress.table)")
        }

        private static func tell(_ report: HubMigration.Report, _ asJSON: Bool) {
            let rows = report.tables.reduce(0) { $0 + $1.rows }
            let sum = String(report.sum, radix: 16)
            if asJSON {
                var writer = JSONWriter()
                writer.beginObject()
                writer.member("rows", rows)
                writer.member("inboxes", report.inboxes)
                writer.member("heads", report.heads)
                writer.member("sum", sum)
                writer.member("kept", report.kept)
                writer.endObject()
                return Output.line(String(decoding: writer.bytes, as: UTF8.self))
            }
            Output.line("moved    \(rows) rows of \(report.tables.count) tables, each compared")
            Output.line("inboxes  \(report.inboxes), heads \(report.heads) and sums \(sum) in both")
            Output.line("file     \(report.kept); start the hub with --store now")
        }
    }
#endif
