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
        options: options,
        examples: [
            "peal hub --directory ./hub", "peal hub --config /etc/peal/hub.conf", "peal hub backup hub-copy.sqlite",
        ],
        subcommands: [HubBackupCommand.backup, HubBackupCommand.restore] + migration, takesProfile: false, run: run)

    private static var migration: [Command] {
        #if PostgreSQL
            [HubMigrateCommand.command]
        #else
            []
        #endif
    }

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        var arguments = arguments
        if let path = arguments.value("config") {
            arguments = try ConfigurationFile.apply(path, to: arguments, options: options)
        }
        let log = try HubLogOutput(arguments)
        var configuration = try configuration(arguments)
        configuration.logLevel = log.level
        configuration.log = { log.write($0) }
        // Before anybody is told that the hub is there, so that a stop that follows at once is a clean one.
        let interruption = await Signals.interruption()
        let hangups = await Signals.interruption([SIGHUP])
        let hub: HubServer
        do {
            hub = try HubServer(configuration)
        } catch {
            // Nobody else shows the secret of what was made.
            if let project = error.project { announce(project, json: arguments.has("json")) }
            throw CommandError(
                code: .failure, message: "The hub does not start: \(error.message).",
                hint: error.isOfListener
                    ? "Another program, or another hub, may have it: give other ports with --http-port and --websocket-port."
                    : nil)
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

    private static func announce(_ hub: HubServer, _ configuration: HubConfiguration, json: Bool) {
        let secure = configuration.certificatePath != nil
        let http = "\(secure ? "https" : "http")://\(configuration.host):\(hub.httpPort)"
        let socket = "\(secure ? "wss" : "ws")://\(configuration.host):\(hub.webSocketPort)/"
        announce(hub.project, listeners: (http, socket), json: json)
        guard !json else { return }
        Output.line("Publishing on \(http)")
        Output.line("Devices on    \(socket)")
    }

    private static func announce(
        _ project: HubProject, listeners: (http: String, socket: String)? = nil, json: Bool
    ) {
        if json {
            var writer = JSONWriter()
            writer.beginObject()
            writer.member("http", listeners?.http)
            writer.member("websocket", listeners?.socket)
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
    }
}
