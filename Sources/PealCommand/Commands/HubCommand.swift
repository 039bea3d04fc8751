import Foundation
import PealHub
import PealModel

/// `peal hub`.
enum HubCommand {
    static let command = Command(
        name: "hub", summary: "run a hub: publish by HTTP, devices by WebSocket",
        discussion: """
            Two listeners: the publishing and admin side speaks HTTP, the device side speaks WebSocket. The first start makes a
            project and prints its instance id, API key and secret once; the file hub.sqlite in the directory keeps them. Stop it
            with Ctrl-C or SIGTERM: devices are told to come back later, and what was accepted is durable.
            """,
        options: [
            Option(
                name: "directory", value: "DIR", help: "where hub.sqlite lies (./hub)",
                environment: "PEAL_HUB_DIRECTORY"),
            Option(name: "host", value: "ADDRESS", help: "the address of both listeners (127.0.0.1)"),
            Option(name: "http-port", value: "PORT", help: "the publishing side; 0 for any (8080)"),
            Option(name: "websocket-port", value: "PORT", help: "the device side; 0 for any (8081)"),
            Option(name: "websocket-url", value: "URL", help: "the device side as devices see it, behind a proxy"),
            Option(name: "tls-cert", value: "FILE", help: "certificate chain (PEM) for both listeners"),
            Option(name: "tls-key", value: "FILE", help: "private key (PEM)"),
            Option(
                name: "require-hmac", value: nil,
                help: "the project that the first start makes wants users to prove themselves"),
            Option(
                name: "catalogue", value: "FILE",
                help: "categories and channels of the project (JSON), taken where they differ from what it has"),
            Option(
                name: "no-reoffer", value: nil,
                help: "after a restore from a backup: devices drop the settled acts that the hub has lost"),
            Option(
                name: "log-level", value: "LEVEL", help: "error, warning, notice, info (each request), debug (notice)"),
            Option(
                name: "log-format", value: "FORMAT",
                help: "text, json or journald (journald where the journal takes standard error, else text)"),
            Option(name: "insecure", value: nil, help: "listen without TLS on an address that others can reach"),
            Option(name: "json", value: nil, help: "JSON, one object a line"),
        ],
        examples: ["peal hub --directory ./hub", "peal hub --catalogue catalogue.json"], run: run)

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let log = try HubLogOutput(arguments)
        let directory = arguments.value("directory") ?? "hub"
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandError(code: .badFile, message: "The directory \(directory) cannot be made.")
        }
        var configuration = HubConfiguration(databasePath: directory + "/hub.sqlite")
        configuration.host = arguments.value("host") ?? "127.0.0.1"
        configuration.httpPort = UInt16(try arguments.int("http-port", in: 0...65_535, default: 8_080))
        configuration.webSocketPort = try arguments.int("websocket-port", in: 0...65_535, default: 8_081)
        configuration.publicWebSocketURL = arguments.value("websocket-url")
        configuration.certificatePath = arguments.value("tls-cert")
        configuration.keyPath = arguments.value("tls-key")
        configuration.requiresHMAC = arguments.has("require-hmac")
        configuration.reoffersLostActs = !arguments.has("no-reoffer")
        if let path = arguments.value("catalogue") {
            guard let bytes = FileManager.default.contents(atPath: path) else {
                throw CommandError(code: .badFile, message: "The catalogue \(path) cannot be read.")
            }
            configuration.catalogue = Array(bytes)
        }
        configuration.logLevel = log.level
        configuration.log = { log.write($0) }
        try check(configuration, arguments)
        // Before anybody is told that the hub is there, so that a stop that follows at once is a clean one.
        let interruption = await Signals.interruption()
        let hangups = await Signals.interruption([SIGHUP])
        let hub: HubServer
        do {
            hub = try HubServer(configuration)
        } catch {
            throw CommandError(code: .failure, message: "The hub does not start: \(error.message).")
        }
        if !isLoopback(configuration.host), configuration.certificatePath == nil {
            let text =
                "listening without TLS on \(configuration.host): keys and secrets cross the network in clear unless a proxy does TLS"
            log.write(HubLogRecord(.warning, text))
        }
        announce(hub, configuration, json: arguments.has("json"))
        let renewals = Task.detached { await renew(hub, at: hangups, log) }
        for await _ in interruption { break }
        renewals.cancel()
        await stop(hub, interruption, log)
        return .success
    }

    /// Stops in order. A second signal ends the process at once, and so does a disk that does not answer: what was told to be
    /// durable is so in any case.
    private static func stop(_ hub: HubServer, _ interruption: AsyncStream<Void>, _ log: HubLogOutput) async {
        log.write(
            HubLogRecord(
                .notice, "stopping: devices are told to come back, requests are finished; a second signal ends at once")
        )
        let begin = ContinuousClock.now
        let second = Task.detached {
            for await _ in interruption {
                log.write(HubLogRecord(.warning, "a second signal: ended at once"))
                _exit(ExitCode.interrupted.rawValue)
            }
        }
        let limit = Task.detached {
            try await Task.sleep(for: .seconds(HubServer.stopSeconds))
            log.write(
                HubLogRecord(.error, "not stopped within \(HubServer.stopSeconds) s: look at the disk. Ended at once"))
            _exit(ExitCode.failure.rawValue)
        }
        await Task.detached { hub.stop() }.value
        second.cancel()
        limit.cancel()
        log.write(HubLogRecord(.notice, "stopped", ["ms": "\(begin.duration(to: .now) / .milliseconds(1))"]))
    }

    private static func isLoopback(_ host: String) -> Bool {
        host.hasPrefix("127.") || ["localhost", "::1"].contains(host)
    }

    /// Takes the certificate anew at each SIGHUP.
    private static func renew(_ hub: HubServer, at hangups: AsyncStream<Void>, _ log: HubLogOutput) async {
        for await _ in hangups {
            guard hub.usesTLS else {
                log.write(HubLogRecord(.notice, "SIGHUP: there is no certificate to read again"))
                continue
            }
            do {
                try hub.renewCertificate()
                log.write(HubLogRecord(.notice, "SIGHUP: new connections get the certificate that was read again"))
            } catch {
                log.write(
                    HubLogRecord(
                        .error,
                        "SIGHUP: \(error.message). The old certificate stays in use; mend the files and send SIGHUP again"
                    ))
            }
        }
    }

    private static func check(_ configuration: HubConfiguration, _ arguments: Arguments) throws(CommandError) {
        guard (configuration.certificatePath == nil) == (configuration.keyPath == nil) else {
            throw .usage("--tls-cert and --tls-key go together.")
        }
        guard isLoopback(configuration.host) || configuration.certificatePath != nil || arguments.has("insecure") else {
            throw CommandError(
                code: .usage,
                message: "Without TLS a hub listens on loopback only: secrets would cross the network in clear.",
                hint: "Give --tls-cert and --tls-key, or --insecure where a proxy in front does TLS.")
        }
    }

    private static func announce(_ hub: HubServer, _ configuration: HubConfiguration, json: Bool) {
        let secure = configuration.certificatePath != nil
        let http = "\(secure ? "https" : "http")://\(configuration.host):\(hub.httpPort)"
        let socket = "\(secure ? "wss" : "ws")://\(configuration.host):\(hub.webSocketPort)/"
        let project = hub.project
        if json {
            var writer = JSONWriter()
            writer.beginObject()
            writer.member("http", http)
            writer.member("websocket", socket)
            writer.member("instance", project.instance)
            if project.isNew {
                writer.member("key", project.apiKey)
                writer.member("secret", project.secret)
            }
            writer.member("operator", project.operatorToken)
            writer.endObject()
            Output.line(String(decoding: writer.bytes, as: UTF8.self))
            return
        }
        if project.isNew {
            Output.line("A project was made. Its secret is shown this once:")
            Output.line("  instance  \(project.instance)")
            Output.line("  key       \(project.apiKey)")
            Output.line("  secret    \(project.secret)")
        } else {
            Output.line("Project \(project.instance)")
        }
        if let token = project.operatorToken {
            Output.line("The operator's token, for /v1/projects, is shown this once:")
            Output.line("  operator  \(token)")
        }
        Output.line("Publishing on \(http)")
        Output.line("Devices on    \(socket)")
    }
}
