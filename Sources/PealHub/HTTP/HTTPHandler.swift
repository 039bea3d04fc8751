/// What answers requests; one per server. `HTTPRouter` is the usual one.
///
/// All functions are called on the server's one thread and must not block: take what is needed from the request and
/// answer later, from any thread, if the answer takes longer than some microseconds.
package protocol HTTPHandler: Sendable {
    /// The largest body to accept for this request, in bytes; nil for the server's own limit, which also caps the
    /// result. Called before the body is read.
    func bodyLimit(for head: HTTPRequestHead) -> Int?

    /// Answers a complete request, now or later, through `respond`, exactly once.
    func handle(_ request: HTTPRequest, respond: HTTPResponder)

    /// Writes a failure that the server itself met, in the shape that belongs to the raw target.
    func response(to failure: HTTPFailure, target: String) -> HTTPResponse
}
