import Foundation
import PealHub
import PealModel

/// What `peal hub` can be told, by an option, the environment (`PEAL_HUB_…`) or a file, and what follows of it.
extension HubCommand {
    static let directory = Option(
        name: "directory", value: "DIR", help: "where hub.sqlite lies (./hub)", environment: "PEAL_HUB_DIRECTORY",
        kind: .directory, isConfigurable: false)

    static let store = Option(
        name: "store", value: "ADDRESS",
        help:
            "postgresql://user@host/name: a database instead of hub.sqlite; with a password give PEAL_HUB_STORE or a file",
        environment: "PEAL_HUB_STORE", isConfigurable: false)

    /// Every option; each has a variable of its name.
    static let options: [Option] = {
        let named: [Option] = [
            directory, store,
            Option(
                name: "store-listen", value: "ADDRESS",
                help: "where to listen for other hubs on the same database, where --store is a pooler"),
            Option(
                name: "config", value: "FILE", help: "a file of 'key = value' lines, whose keys are these options",
                kind: .file),
            Option(name: "host", value: "ADDRESS", help: "the address of both listeners (127.0.0.1)"),
            Option(name: "http-port", value: "PORT", help: "the publishing side; 0 for any (8080)"),
            Option(name: "websocket-port", value: "PORT", help: "the device side; 0 for any (8081)"),
            Option(name: "websocket-url", value: "URL", help: "the device side as devices see it, behind a proxy"),
            Option(name: "tls-cert", value: "FILE", help: "certificate chain (PEM) for both listeners", kind: .file),
            Option(name: "tls-key", value: "FILE", help: "private key (PEM)", kind: .file),
            Option(
                name: "require-hmac", value: nil,
                help: "the project that the first start makes wants users to prove themselves"),
            Option(
                name: "catalogue", value: "FILE",
                help: "categories and channels of the project (JSON), taken where they differ from what it has",
                kind: .file),
            Option(
                name: "no-reoffer", value: nil,
                help: "after a restore from a backup: devices drop the settled acts that the hub has lost"),
            Option(
                name: "webhook-host", value: "HOST", help: "a host that webhooks may call, with a port or without",
                repeats: true),
            Option(name: "keep-entries", value: "N", help: "entries that each log keeps at least (100000)"),
            Option(name: "keep-days", value: "DAYS", help: "days after which an older entry goes (90)"),
            Option(name: "connections", value: "N", help: "open HTTP connections (1024)"),
            Option(name: "connections-per-address", value: "N", help: "of one address; 0 for no limit"),
            Option(
                name: "requests-per-address", value: "N", help: "HTTP requests a second of one address; 0 for no limit"),
            Option(
                name: "requests-per-project", value: "N",
                help: "HTTP requests a second of one project; 0 for no limit (2000)"),
            Option(name: "sockets", value: "N", help: "open sockets of devices (100000)"),
            Option(name: "sockets-per-address", value: "N", help: "of one address; 0 for no limit"),
            Option(
                name: "log-level", value: "LEVEL", help: "error, warning, notice, info (each request), debug (notice)",
                values: HubLogLevel.allCases.map(\.name)),
            Option(
                name: "log-format", value: "FORMAT",
                help: "text, json or journald (journald where the journal takes standard error, else text)",
                values: HubLogRecord.Format.allCases.map(\.rawValue)),
            Option(name: "insecure", value: nil, help: "listen without TLS on an address that others can reach"),
            Option(name: "json", value: nil, help: "JSON, one object a line"),
        ]
        return named.map { option in
            var option = option
            option.isConfigurable = false
            option.environment = "PEAL_HUB_" + option.name.uppercased().replacing("-", with: "_")
            return option
        }
    }()

    /// What the arguments mean. Makes the directory.
    ///
    /// - Throws: ``CommandError`` that names the option, or the file.
    static func configuration(_ arguments: Arguments) throws(CommandError) -> HubConfiguration {
        let directory = arguments.value("directory") ?? "hub"
        var configuration = HubConfiguration(databasePath: directory + "/hub.sqlite")
        configuration.store = arguments.value("store")
        if let store = configuration.store {
            // Another kind of text may hold anything, so it is not shown.
            for (name, address) in [("store", store), ("store-listen", arguments.value("store-listen") ?? store)] {
                guard address.hasPrefix("postgresql://") || address.hasPrefix("postgres://") else {
                    throw .usage("--\(name) takes an address that begins with postgresql://.")
                }
            }
            configuration.storeListen = arguments.value("store-listen")
        }
        configuration.host = arguments.value("host") ?? "127.0.0.1"
        configuration.httpPort = UInt16(try arguments.int("http-port", in: 0...65_535, default: 8_080))
        configuration.webSocketPort = try arguments.int("websocket-port", in: 0...65_535, default: 8_081)
        configuration.publicWebSocketURL = arguments.value("websocket-url")
        configuration.certificatePath = arguments.value("tls-cert")
        configuration.keyPath = arguments.value("tls-key")
        configuration.requiresHMAC = arguments.has("require-hmac")
        configuration.webhookHosts = arguments.list("webhook-host")
        configuration.reoffersLostActs = !arguments.has("no-reoffer")
        configuration.retention = Retention(
            entries: Int64(try arguments.int("keep-entries", in: 1...1_000_000_000, default: Int(Limits.logEntries))),
            age: Milliseconds(try arguments.int("keep-days", in: 1...36_500, default: Int(Limits.logAge / 86_400_000)))
                * 86_400_000)
        if let path = arguments.value("catalogue") {
            guard let bytes = FileManager.default.contents(atPath: path) else {
                throw CommandError(code: .badFile, message: "The catalogue \(path) cannot be read.")
            }
            configuration.catalogue = Array(bytes)
        }
        configuration.limits = try limits(arguments, host: configuration.host)
        try check(configuration, arguments)
        if configuration.store == nil { try makeDirectory(directory) }
        return configuration
    }

    /// Makes the hub's directory, for its owner alone, where it is not there.
    ///
    /// - Throws: ``CommandError`` `badFile`.
    static func makeDirectory(_ path: String) throws(CommandError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandError(code: .badFile, message: "The directory \(path) cannot be made.")
        }
    }

    private static func limits(_ arguments: Arguments, host: String) throws(CommandError) -> HubLimits {
        // On loopback, and behind a proxy, everybody has one address.
        var limits = isLoopback(host) || arguments.has("insecure") ? HubLimits() : .open
        let most = 10_000_000
        limits.connections = try arguments.int("connections", in: 1...most, default: limits.connections)
        limits.connectionsPerAddress = try arguments.int(
            "connections-per-address", in: 0...most, default: limits.connectionsPerAddress)
        limits.requestsPerAddress = try arguments.int(
            "requests-per-address", in: 0...most, default: limits.requestsPerAddress)
        limits.requestsPerProject = try arguments.int(
            "requests-per-project", in: 0...most, default: limits.requestsPerProject)
        limits.sockets = try arguments.int("sockets", in: 1...most, default: limits.sockets)
        limits.socketsPerAddress = try arguments.int(
            "sockets-per-address", in: 0...most, default: limits.socketsPerAddress)
        return limits
    }

    static func isLoopback(_ host: String) -> Bool {
        host.hasPrefix("127.") || ["localhost", "::1"].contains(host)
    }

    private static func check(_ configuration: HubConfiguration, _ arguments: Arguments) throws(CommandError) {
        guard (configuration.certificatePath == nil) == (configuration.keyPath == nil) else {
            throw .usage("--tls-cert and --tls-key go together.")
        }
        for (name, path) in [("certificate", configuration.certificatePath), ("key", configuration.keyPath)] {
            guard let path, !FileManager.default.isReadableFile(atPath: path) else { continue }
            throw CommandError(code: .badFile, message: "The \(name) \(path) is not there, or cannot be read.")
        }
        guard isLoopback(configuration.host) || configuration.certificatePath != nil || arguments.has("insecure") else {
            throw CommandError(
                code: .usage,
                message: "Without TLS a hub listens on loopback only: secrets would cross the network in clear.",
                hint: "Give --tls-cert and --tls-key, or --insecure where a proxy in front does TLS.")
        }
    }
}
