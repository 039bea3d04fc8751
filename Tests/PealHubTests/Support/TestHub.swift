import Foundation
import PealModel

@testable import PealHub

/// A whole hub on a file of its own and on ports of the system's choice. Stops, and removes the file, when it goes.
final class TestHub {
    /// The folder that holds the file.
    let directory: String
    /// What the hub logged.
    let log = LogLines()
    private(set) var server: HubServer
    private let requiresHMAC: Bool
    private let retention: Retention
    private let webhookHosts: [String]

    init(requiresHMAC: Bool = false, retention: Retention = Retention(), webhookHosts: [String] = []) throws {
        directory = NSTemporaryDirectory() + "peal-hub-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        self.requiresHMAC = requiresHMAC
        self.retention = retention
        self.webhookHosts = webhookHosts
        server = try Self.start(directory + "/hub.db", log, requiresHMAC, retention, webhookHosts)
    }

    deinit {
        server.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The file.
    var path: String { directory + "/hub.db" }
    /// The project that the first start made.
    var project: HubProject { server.project }

    private static func start(
        _ path: String, _ log: LogLines, _ requiresHMAC: Bool, _ retention: Retention, _ webhookHosts: [String]
    ) throws -> HubServer {
        var configuration = HubConfiguration(databasePath: path)
        configuration.httpPort = 0
        configuration.webSocketPort = 0
        configuration.requiresHMAC = requiresHMAC
        configuration.retention = retention
        configuration.webhookHosts = webhookHosts
        configuration.log = { log.add($0) }
        return try HubServer(configuration)
    }

    /// Stops the hub and starts another one on the same file.
    func restart() throws {
        server.stop()
        server = try Self.start(path, log, requiresHMAC, retention, webhookHosts)
    }

    // MARK: HTTP

    /// A connection to the publishing side; it keeps the hub.
    func client() throws -> RawHTTPClient { try RawHTTPClient(port: server.httpPort, keeping: self) }

    /// The path of a publish: `interests`, `users`, or empty for the oldest form.
    func publishPath(_ kind: String, instance: String? = nil) -> String {
        "/publish_api/v1/instances/\(instance ?? project.instance)/publishes" + (kind.isEmpty ? "" : "/" + kind)
    }

    /// The header fields of a publish.
    var bearer: String { "Authorization: Bearer \(project.secret)\r\nContent-Type: application/json\r\n" }

    /// The header fields of a publisher of the inbox surface.
    var admin: String {
        "X-MAGICBELL-API-KEY: \(project.apiKey)\r\nX-MAGICBELL-API-SECRET: \(project.secret)\r\n"
            + "Content-Type: application/json\r\n"
    }

    /// The header fields of a user who proves nothing.
    func user(_ externalID: String) -> String {
        "X-MAGICBELL-API-KEY: \(project.apiKey)\r\nX-MAGICBELL-USER-EXTERNAL-ID: \(externalID)\r\n"
    }

    /// The proof of a user.
    func hmac(_ subject: String) -> String {
        Base64.standard.encode(HMACSHA256.code(Array(subject.utf8), key: Array(project.secret.utf8)))
    }

    /// Publishes a titled item to users.
    func publish(_ title: String, users: [String]) throws {
        let names = users.map { "\"\($0)\"" }.joined(separator: ",")
        let body = #"{"users":[\#(names)],"apns":{"aps":{"alert":{"title":"\#(title)","body":"Body text"}}}}"#
        let answer = try client().post(publishPath("users"), body, headers: bearer)
        guard answer.status == 200 else { throw RawHTTPError(what: "publish: \(answer.status) \(answer.text)") }
    }
}

extension RawHTTPClient {
    /// Sends text as the body of a POST.
    func post(_ target: String, _ body: String, headers: String) throws -> RawHTTPResponse {
        try request("POST", target, headers: headers, body: Array(body.utf8))
    }

    /// Sends a GET.
    func get(_ target: String, headers: String = "") throws -> RawHTTPResponse {
        try request("GET", target, headers: headers)
    }
}

extension RawHTTPResponse {
    /// The body as JSON; null where it is none.
    var json: JSON { (try? JSON(body[...])) ?? .null }

    /// The body's member names, in order.
    var members: [String] { json.objectValue?.map(\.key) ?? [] }
}
