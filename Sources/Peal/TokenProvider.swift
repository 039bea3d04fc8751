internal import Foundation
internal import PealModel
internal import PealWebSocket

/// Gets a user's token from the app's own server, whenever ``PushNotifications`` needs one: it proves to the hub who the user is.
public protocol TokenProvider: Sendable {
    /// Gets a token: a JSON web token, signed with the instance's secret, whose `sub` is the user id.
    ///
    /// Called on a thread of its own. The first call of the handler counts; after a minute without one the provider counts as failed.
    ///
    /// - Parameters:
    ///   - userId: as it was given to ``PushNotifications/setUserId(_:tokenProvider:completion:)``.
    ///   - completionHandler: gets the token, or an error and any text.
    func fetchToken(
        userId: String, completionHandler: @escaping @Sendable (String, (any Error)?) -> Void
    ) throws
}

/// What the app's server wants to know from who asks for a token.
public struct AuthData: Sendable, Equatable {
    /// Header lines.
    public let headers: [String: String]
    /// Parameters of the query, beside `user_id`.
    public let queryParams: [String: String]

    /// Auth data of its parts; either may be empty.
    public init(headers: [String: String] = [:], queryParams: [String: String] = [:]) {
        self.headers = headers
        self.queryParams = queryParams
    }
}

/// A provider that asks a server: `GET authURL?user_id=…`, which answers 200 and `{"token": "…"}`.
public final class BeamsTokenProvider: TokenProvider {
    /// The server's URL.
    public let authURL: String
    private let getAuthData: @Sendable () -> AuthData
    private let authorityPath: String?
    private let proxy: HubProxy?

    /// Bytes of an answer: a token and some room.
    private static let answerBytes = 64 * 1_024
    /// Seconds that a server may take.
    private static let seconds = 30

    /// A provider.
    ///
    /// - Parameters:
    ///   - authURL: `http://…` or `https://…`; may hold a query of its own.
    ///   - authorityPath: a PEM file of certificate authorities in place of the system's.
    ///   - proxy: an HTTP proxy before the server; nil for none.
    ///   - getAuthData: headers and query parameters of each request. Called on any thread.
    public init(
        authURL: String, authorityPath: String? = nil, proxy: HubProxy? = nil,
        getAuthData: @escaping @Sendable () -> AuthData = { AuthData() }
    ) {
        self.authURL = authURL
        self.authorityPath = authorityPath
        self.proxy = proxy
        self.getAuthData = getAuthData
    }

    /// Asks the server. Not blocking. Gives ``PealError`` to the handler: `badURL`, `unreachable`, `refused` with the server's status,
    /// `noToken`.
    public func fetchToken(
        userId: String, completionHandler: @escaping @Sendable (String, (any Error)?) -> Void
    ) throws {
        Task {
            do throws(PealError) {
                completionHandler(try await token(of: userId), nil)
            } catch {
                completionHandler("", error)
            }
        }
    }

    private func token(of userId: String) async throws(PealError) -> String {
        let data = getAuthData()
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-._~")
        let query = ([("user_id", userId)] + data.queryParams.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }).map
        {
            [$0.0, $0.1].map { $0.addingPercentEncoding(withAllowedCharacters: allowed) ?? "" }.joined(separator: "=")
        }.joined(separator: "&")
        var url = String(authURL.prefix { $0 != "#" })
        url += (url.contains("?") ? (url.hasSuffix("?") || url.hasSuffix("&") ? "" : "&") : "?") + query
        let request = HTTPClientRequest(
            "GET", url, headers: data.headers.map { (name: $0.key, value: $0.value) }, authorityPath: authorityPath,
            proxy: proxy?.address, timeoutSeconds: Self.seconds, maximumAnswerBytes: Self.answerBytes)
        let answer: HTTPClientAnswer
        do throws(WebSocketError) {
            answer = try await SocketService.shared().answer(to: request)
        } catch {
            // The URL may hold a secret.
            if error.code == .url { throw PealError(.badURL, "the auth URL: \(error.message)") }
            throw PealError(.unreachable, "the server that gives user tokens cannot be reached: \(error.message)")
        }
        guard (200..<300).contains(answer.status) else {
            throw PealError(
                .refused, "the server that gives user tokens refused (\(answer.status))", status: answer.status)
        }
        guard let token = (try? JSON(answer.body[...]))?["token"]?.stringValue, !token.isEmpty else {
            throw PealError(.noToken, "the server that gives user tokens answered without a token")
        }
        return token
    }
}

/// Asks a provider, and looks at what it says before anybody else does.
enum ProvenUser {
    /// Bytes of a user id.
    static let maximumID = 164

    /// A token of a user.
    ///
    /// - Throws: what the provider throws or gives; ``PealError``: `timeout`, `noToken` for none, `invalid` for one that is another user's.
    static func token(of id: String, from provider: any TokenProvider, within time: Duration) async throws -> String {
        let once = Once<Result<String, any Error>>()
        // The app's code may block.
        Thread.detachNewThread {
            do {
                try provider.fetchToken(userId: id) { token, error in
                    once.give(error.map { .failure($0) } ?? .success(token))
                }
            } catch {
                once.give(.failure(error))
            }
        }
        let clock = Task {
            try await Task.sleep(for: time)
            once.give(.failure(PealError(.timeout, "the token provider gave no answer within \(time)")))
        }
        defer { clock.cancel() }
        let token = try await withTaskCancellationHandler {
            await withCheckedContinuation { once.wait($0) }
        } onCancel: {
            once.give(.failure(UserCore.cancelled))
        }.get()
        guard !token.isEmpty else { throw PealError(.noToken, "the token provider gave no token") }
        guard let subject = subject(of: token) else {
            throw PealError(.noToken, "what the token provider gave is no JSON web token that names a user")
        }
        guard subject.utf8.elementsEqual(id.utf8) else {
            throw PealError(.invalid, "the token is of another user than the one that was given")
        }
        return token
    }

    /// The `sub` of a JSON web token; the hub checks its signature.
    private static func subject(of token: String) -> String? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let bytes = Data(base64Encoded: text) else { return nil }
        return (try? JSON(Array(bytes)[...]))?["sub"]?.stringValue
    }
}
