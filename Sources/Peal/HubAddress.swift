public import Foundation
internal import PealModel
internal import PealWebSocket

/// A hub, by the one URL that a person names: its publishing side. `GET /config` tells where devices connect.
public struct HubAddress: Sendable, Equatable {
    /// The publishing side.
    public let url: URL
    /// The proxy before it, for HTTP and WebSocket; nil for none.
    public let proxy: HubProxy?

    /// Parses `http://host[:port]` or `https://…`.
    ///
    /// - Parameters:
    ///   - text: the URL.
    ///   - proxy: the proxy before the hub; nil for none. ``HubProxy/environment(for:_:)`` gives that of the environment.
    /// - Throws: ``PealError``: `badURL`.
    public init(_ text: String, proxy: HubProxy? = nil) throws(PealError) {
        guard let url = URL(string: text), let scheme = url.scheme, scheme == "http" || scheme == "https",
            url.host?.isEmpty == false, url.query == nil
        else { throw PealError(.badURL, "'\(text)' is not a hub's URL; one is http://host:port or https://host") }
        self.url = url
        self.proxy = proxy
    }

    /// Asks the hub where devices connect.
    ///
    /// - Throws: ``PealError``: `unreachable`, `notAHub`.
    func webSocketURL(authorityPath: String? = nil) async throws(PealError) -> String {
        let (status, body) = try await request(
            "GET", ["config"], headers: [:], body: nil, seconds: 10, authorityPath: authorityPath)
        guard status == 200, let config = try? JSON(body[...]), let text = config["websocket"]?.stringValue else {
            throw PealError(.notAHub, "\(url) answered \(status) to GET /config; is it a hub?")
        }
        return text
    }

    /// One HTTP request. Path segments are encoded here.
    ///
    /// - Throws: ``PealError``: `unreachable`, `badURL`, `cancelled`.
    func request(
        _ method: String, _ path: [String], query: [(String, String)] = [], headers: [String: String], body: [UInt8]?,
        seconds: Int, authorityPath: String? = nil
    ) async throws(PealError) -> (status: Int, body: [UInt8]) {
        let answer = try await answer(
            method, path, query: query, headers: headers, body: body, seconds: seconds, authorityPath: authorityPath)
        return (answer.status, answer.body)
    }

    /// The same with all of the answer. With `onBytes` an answer of 200 is handed over as it comes, on the socket thread, and may go on for ever:
    /// `seconds` are those of a silence then.
    func answer(
        _ method: String, _ path: [String], query: [(String, String)] = [], headers: [String: String], body: [UInt8]?,
        seconds: Int, authorityPath: String? = nil, onBytes: (@Sendable ([UInt8]) -> Void)? = nil
    ) async throws(PealError) -> HTTPClientAnswer {
        var allowed = CharacterSet()
        allowed.insert(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        func encode(_ text: String) -> String { text.addingPercentEncoding(withAllowedCharacters: allowed) ?? "" }
        var text = url.absoluteString
        while text.hasSuffix("/") { text.removeLast() }
        text += "/" + path.map(encode).joined(separator: "/")
        if !query.isEmpty {
            text += "?" + query.map { "\(encode($0.0))=\(encode($0.1))" }.joined(separator: "&")
        }
        // Not URLSession: on Linux its tasks end the process where a server closes in the middle of its answer's head
        // (swift-corelibs-foundation #5285), and where they are cancelled (#3296, #5412).
        var lines = headers.map { (name: $0.key, value: $0.value) }
        if body != nil { lines.append((name: "Content-Type", value: "application/json")) }
        let request = HTTPClientRequest(
            method, text, headers: lines, body: body, authorityPath: authorityPath, proxy: proxy?.address,
            timeoutSeconds: seconds)
        do throws(WebSocketError) {
            return try await SocketService.shared().answer(to: request, onBytes: onBytes)
        } catch {
            if error.code == .url { throw PealError(.badURL, "'\(url)': \(error.message)") }
            if Task.isCancelled { throw PealError(.cancelled, "the call was cancelled") }
            let through = proxy.map { " through the proxy \($0)" } ?? ""
            throw PealError(.unreachable, "the hub at \(url) cannot be reached\(through): \(error.message)")
        }
    }
}
