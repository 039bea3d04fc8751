internal import CPealCurl
import PealModel
import PealSQLite
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Makes webhook calls with libcurl, a few at a time, on threads of its own.
final class WebhookSender: Sendable {
    /// Calls at a time.
    static let lanes = 4
    /// How a call ended.
    enum Outcome: Equatable, Sendable {
        /// The other end took it.
        case taken
        /// It answered something else, or nothing: a word for the log.
        case failed(String)
    }

    private let context: WebhookContext
    private let threads: [ConnectionExecutor]
    private let next = Atomic(0)
    private static let isStarted = peal_curl_start() == 0

    init(_ policy: WebhookPolicy) {
        context = WebhookContext(policy)
        threads = policy.isEmpty ? [] : (0..<Self.lanes).map { ConnectionExecutor(name: "peal-hook-\($0)") }
    }

    /// Whether a URL would be called at all.
    func takes(_ url: String) -> Bool { context.policy.target(url) != nil }

    /// Makes a call; `done` comes on a thread of the sender's.
    func send(_ call: WebhookCall, secret: String, done: @escaping @Sendable (Outcome) -> Void) {
        guard takes(call.url), !threads.isEmpty, Self.isStarted else {
            return done(.failed("its address is not listed"))
        }
        let lane = next.wrappingAdd(1, ordering: .relaxed).newValue
        let context = context
        threads[lane & (Self.lanes - 1)].post { done(Self.post(call, secret, context)) }
    }

    /// Gives up the calls that are being made, which are made again after their lease, and ends the threads. Blocks, for about a second.
    func stop() {
        context.isStopping.store(true, ordering: .relaxed)
        for thread in threads { thread.stop() }
    }

    private static func post(_ call: WebhookCall, _ secret: String, _ context: WebhookContext) -> Outcome {
        let fields: [String] = [
            "Content-Type: application/json", "User-Agent: peal-webhooks", "Expect:",
            "Webhook-Event-Type: \(call.event)",
            "Webhook-Signature: \(WebhookCall.signature(call.body, secret: secret))",
        ]
        let copies: [UnsafeMutablePointer<CChar>?] = fields.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let headers: [UnsafePointer<CChar>?] = copies.map { UnsafePointer($0) } + [nil]
        var failure: Int32 = 0
        let status = headers.withUnsafeBufferPointer { headers in
            call.body.withUnsafeBytes { body in
                call.url.withCString { url in
                    // The closure around keeps the context meanwhile.
                    var post = peal_curl_post(
                        url: url, body: body.baseAddress, body_size: body.count, headers: headers.baseAddress,
                        connect_milliseconds: 5_000, milliseconds: 10_000, allows: isAllowed, stops: isStopping,
                        context: Unmanaged.passUnretained(context).toOpaque())
                    return withExtendedLifetime(context) { peal_curl_send(&post, &failure) }
                }
            }
        }
        if (200...299).contains(status) { return .taken }
        return .failed(status > 0 ? "it answered \(status)" : "it did not answer (curl \(failure))")
    }
}

/// What the library's callbacks ask.
private final class WebhookContext: Sendable {
    let policy: WebhookPolicy
    let isStopping = Atomic(false)

    init(_ policy: WebhookPolicy) { self.policy = policy }
}

// MARK: The library's callbacks, on the thread of a call

private func isAllowed(_ context: UnsafeMutableRawPointer?, _ address: UnsafePointer<sockaddr>?) -> Int32 {
    guard let context, let address else { return 0 }
    return Unmanaged<WebhookContext>.fromOpaque(context).takeUnretainedValue().policy.allows(address) ? 1 : 0
}

private func isStopping(_ context: UnsafeMutableRawPointer?) -> Int32 {
    guard let context else { return 1 }
    let owner = Unmanaged<WebhookContext>.fromOpaque(context).takeUnretainedValue()
    return owner.isStopping.load(ordering: .relaxed) ? 1 : 0
}
