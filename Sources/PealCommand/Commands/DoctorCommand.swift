import Foundation
import Peal
import PealModel

/// `peal doctor`.
enum DoctorCommand {
    static let command = Command(
        name: "doctor", summary: "look at everything that a command needs, and say what to do next",
        discussion: """
            One page: versions, the configuration in use, the hub (reachable, ready, key and secret, certificate, clock, WebSocket), the
            replicas of this machine (whole, mode, acts that wait, dead letters, disk) and the terminal. Secrets are never shown, nothing
            is changed, and the hub is told nothing.

            exit codes: 0 nothing failed, warnings or not; 1 something failed
            """,
        options: HubOptions.project + HubOptions.connection.filter { $0.name != "timeout" } + [
            Option(name: "timeout", value: "SECONDS", help: "how long to wait for the hub each time (5)"),
            Option(name: "user", value: "ID", help: "shown only: who the profile is", environment: "PEAL_USER"),
            Option(name: "email", value: "ADDRESS", help: "likewise", environment: "PEAL_EMAIL"),
            Option(name: "hmac", value: "CODE", help: "likewise", environment: "PEAL_HMAC"),
            Option(
                name: "directory", value: "DIR", help: "where the replicas lie (~/.local/share/peal)",
                environment: "PEAL_DIRECTORY", kind: .directory),
            Option(name: "offline", value: nil, help: "leave the hub out"), HubOptions.json,
        ],
        examples: ["peal doctor", "peal --profile shop doctor --json | jq 'select(.state != \"ok\")'"],
        takesProfile: false, run: run)

    private static func run(_ given: Arguments) async throws -> ExitCode {
        let environment = ProcessInfo.processInfo.environment
        var arguments = given
        var problem: CommandError?
        do throws(CommandError) {
            var merged = command
            merged.options += GlobalOptions.all
            arguments = try Profiles.apply(to: given, of: merged, root: root, environment: environment, warns: false)
            Output.configure(arguments)
        } catch {
            problem = error
        }
        let machine = MachineDoctor(arguments: arguments, environment: environment)
        var isWell = true
        func show(_ findings: [Finding]) {
            if findings.contains(where: { $0.state == .failed }) { isWell = false }
            let shown = arguments.has("quiet") ? findings.filter { $0.state != .ok && $0.state != .skipped } : findings
            guard let first = shown.first else { return }
            if arguments.has("json") { return shown.forEach { Output.json($0.json) } }
            Output.line(Output.paint(first.section, .bold))
            for finding in shown { finding.lines.forEach { Output.line($0) } }
        }
        show(machine.versions())
        show(machine.configuration(problem))
        show(await hub(arguments))
        show(machine.replicas())
        show(machine.terminal())
        return isWell ? .success : .failure
    }

    private static func hub(_ arguments: Arguments) async -> [Finding] {
        var found = Findings("hub")
        if arguments.has("offline") {
            found.add(.skipped, "reachable", "left out, as asked")
            return found.all
        }
        do {
            let seconds = try arguments.int("timeout", in: 1...3_600, default: 5)
            let credentials = (try? HubOptions.backEnd(arguments)) ?? .nobody
            var api = try HubOptions.api(arguments, credentials)
            api.timeoutSeconds = seconds
            return await HubDoctor(api: api, seconds: seconds).look()
        } catch {
            let error = explain(error)
            found.add(.failed, "address", error.message, error.hint ?? "Check --hub and --proxy.")
            return found.all
        }
    }
}
