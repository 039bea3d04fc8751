public import Foundation
#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif
internal import PealModel

/// A hub, by the one URL that a person names: its publishing side. `GET /config` tells where devices connect.
public struct HubAddress: Sendable, Equatable {
    /// The publishing side.
    public let url: URL

    /// Parses `http://host[:port]` or `https://…`.
    ///
    /// - Throws: ``PealError``: `badURL`.
    public init(_ text: String) throws(PealError) {
        guard let url = URL(string: text), let scheme = url.scheme, scheme == "http" || scheme == "https",
            url.host?.isEmpty == false, url.query == nil
        else { throw PealError(.badURL, "'\(text)' is not a hub's URL; one is http://host:port or https://host") }
        self.url = url
    }

    /// A session of our own, without a cache: no answer of a hub is to be cached.
    private static let session: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        return URLSession(configuration: configuration)
    }()

    /// The answer to a request, or an error at once when the task is cancelled.
    ///
    /// A cancelled request is left to end by itself (within its timeout), and its answer is dropped: on Linux, `URLSessionTask.cancel()`
    /// traps or waits for ever when it meets the task's first or last step (swift-corelibs-foundation #3296, #5412).
    private static func answer(to request: URLRequest) async throws -> (Data, URLResponse) {
        let answers = AsyncThrowingStream<(Data, URLResponse), any Error> { continuation in
            session.dataTask(with: request) { data, response, error in
                if let data, let response {
                    continuation.yield((data, response))
                    continuation.finish()
                } else {
                    continuation.finish(throwing: error ?? URLError(.unknown))
                }
            }.resume()
        }
        for try await answer in answers { return answer }
        throw CancellationError()
    }

    /// Asks the hub where devices connect.
    ///
    /// - Throws: ``PealError``: `unreachable`, `notAHub`.
    func webSocketURL() async throws(PealError) -> String {
        let (status, body) = try await request("GET", ["config"], headers: [:], body: nil, seconds: 10)
        guard status == 200, let config = try? JSON(body[...]), let text = config["websocket"]?.stringValue else {
            throw PealError(.notAHub, "\(url) answered \(status) to GET /config; is it a hub?")
        }
        return text
    }

    /// One HTTP request. Path segments are encoded here.
    ///
    /// - Throws: ``PealError``: `unreachable`.
    func request(
        _ method: String, _ path: [String], query: [(String, String)] = [], headers: [String: String], body: [UInt8]?,
        seconds: TimeInterval
    ) async throws(PealError) -> (status: Int, body: [UInt8]) {
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-._~")
        func encode(_ text: String) -> String { text.addingPercentEncoding(withAllowedCharacters: allowed) ?? "" }
        var text = url.absoluteString
        while text.hasSuffix("/") { text.removeLast() }
        text += "/" + path.map(encode).joined(separator: "/")
        if !query.isEmpty {
            text += "?" + query.map { "\(encode($0.0))=\(encode($0.1))" }.joined(separator: "&")
        }
        guard let target = URL(string: text) else { throw PealError(.badURL, "'\(text)' is not a URL") }
        var request = URLRequest(url: target, timeoutInterval: seconds)
        request.httpMethod = method
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        if let body {
            request.httpBody = Data(body)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        do {
            let (data, response) = try await Self.answer(to: request)
            return ((response as? HTTPURLResponse)?.statusCode ?? 0, Array(data))
        } catch {
            throw PealError(.unreachable, "the hub at \(url) cannot be reached: \(error.localizedDescription)")
        }
    }
}
