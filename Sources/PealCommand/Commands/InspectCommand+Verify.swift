import Peal
import PealModel
import PealReplica

/// `peal inspect verify`.
extension InspectCommand {
    static let verify = Command(
        name: "verify", summary: "check every invariant that the file can show, alone or against its hub",
        discussion: """
            The invariants are those of docs/sync.md section 9, each by itself, with evidence and without content; a failed check ends with
            exit code 5. With --hub the file is compared with the hub too: the chain at the file's cursor, and where both stand at one
            position the sum, the counts, and of a user's inbox the newest 10,000 items that the hub lists, one by one.
            """,
        operands: [InspectFile.file], options: verifyOptions + [Option(name: "json", value: nil, help: "JSON")],
        examples: [
            "peal inspect verify id-%4dary.peal", "peal inspect verify --hub http://127.0.0.1:8080 id-%4dary.peal",
        ], run: verify)

    private static let verifyOptions = [
        Option(name: "hub", value: "URL", help: "compare with this hub too", isConfigurable: false),
        Option(
            name: "key", value: "KEY", help: "the project's API key, where the file does not name it",
            environment: "PEAL_KEY"),
        Option(
            name: "hmac", value: "CODE", help: "what proves the user, where the project wants it",
            environment: "PEAL_HMAC"),
        Option(
            name: "secret", value: "SECRET", help: "the project's secret; needed for a device's own inbox",
            environment: "PEAL_SECRET"), HubOptions.secretFile,
    ]

    private static func verify(_ arguments: Arguments) async throws -> ExitCode {
        let file = try InspectFile(arguments.operands[0])
        let reader = file.reader
        var standing: (HubStanding, HubItems?)?
        var problem: PealError?
        if let url = arguments.value("hub") {
            let secret = try arguments.secret("secret")
            do throws(PealError) {
                standing = try await ask(url, arguments, secret, reader)
            } catch {
                problem = error
            }
        }
        let found: Verification
        do throws(ReplicaError) {
            found = try reader.verify(hub: standing?.0, items: standing?.1)
        } catch {
            let survey = FileSurvey(file.path)
            throw CommandError(
                code: .badFile, message: (survey.problems + [error.message]).map(Output.safe).joined(separator: "\n"),
                hint: "`peal inspect repair` makes a file of what can be read.")
        }
        if arguments.has("json") { Output.line(json(found, arguments.operands[0])) } else { show(found) }
        // What the file shows by itself is told all the same.
        if let problem, found.isClean { throw problem }
        if let problem { Output.note("peal: \(problem.message)") }
        for note in reader.notes { Output.note("note: \(Output.safe(note))") }
        return found.isClean ? .success : .badFile
    }

    private static func ask(
        _ url: String, _ arguments: Arguments, _ secret: String?, _ reader: ReplicaReader
    ) async throws(PealError) -> (HubStanding, HubItems?) {
        let file: Inspection
        do {
            file = try reader.inspect(integrity: false)
        } catch {
            throw PealError(.file, "the file does not say whose it is: \(error.message)")
        }
        let key = arguments.value("key") ?? file.project
        let hub = try HubAddress(url, proxy: HubProxy.environment(for: url))
        let identity = try? JSON(Array(file.identity.utf8)[...])
        let credentials: HubCredentials
        var inbox: String?
        if identity?["kind"]?.stringValue == "device" {
            guard let secret, let bound = file.inbox else {
                throw PealError(.invalid, "a device's own inbox is compared with --secret, after its first contact")
            }
            credentials = .project(instance: "", key: key, secret: secret)
            inbox = bound
        } else {
            credentials = .user(
                key: key, externalId: identity?["externalId"]?.stringValue, email: identity?["email"]?.stringValue,
                hmac: arguments.value("hmac"), secret: secret)
        }
        var api = HubAPI(hub: hub, credentials: credentials)
        api.told = { Output.trace($0) }
        let standing = try await api.standing(inbox: inbox, position: file.cursor.position)
        // Two states of the log need not agree item by item, and a device's own inbox has no list.
        guard inbox == nil, standing.position == file.cursor.position else { return (standing, nil) }
        return (standing, try await api.items())
    }

    private static func show(_ found: Verification) {
        Output.line(Output.fit("position", 12) + String(found.position))
        for check in found.checks {
            let name = Output.fit(check.name, 12)
            switch check.result {
            case .passed: Output.line(name + "ok       " + check.claim)
            case .skipped(let why): Output.line(name + "skipped  " + check.claim + ": " + Output.safe(why))
            case .failed(let evidence):
                Output.line(name + "FAILED   " + check.claim)
                for sentence in evidence { Output.line(Output.fit("", 21) + Output.safe(sentence)) }
            }
        }
    }

    private static func json(_ found: Verification, _ path: String) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("file", path)
        writer.member("position", found.position)
        writer.member("clean", found.isClean)
        writer.key("checks")
        writer.beginArray()
        for check in found.checks {
            writer.beginObject()
            writer.member("name", check.name)
            writer.member("claim", check.claim)
            switch check.result {
            case .passed: writer.member("result", "passed")
            case .skipped(let why):
                writer.member("result", "skipped")
                writer.member("why", why)
            case .failed(let evidence):
                writer.member("result", "failed")
                writer.key("evidence")
                writer.beginArray()
                for sentence in evidence { writer.string(sentence) }
                writer.endArray()
            }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
