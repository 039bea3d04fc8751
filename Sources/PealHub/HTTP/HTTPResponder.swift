internal import Synchronization

/// The one answer to one request.
///
/// `send` may be called from any thread, does not block, and must be called exactly once; a second call stops the
/// process. A responder that is released without an answer makes the server answer 500 and log its own mistake. An
/// answer that comes after the server has stopped, or after the client has gone, is dropped.
package final class HTTPResponder: Sendable {
    private let sink: @Sendable (HTTPResponse?) -> Void
    private let sent = Atomic(false)

    /// A responder that gives the answer, or nil when it is released without one, to a closure.
    package init(_ sink: @escaping @Sendable (HTTPResponse?) -> Void) {
        self.sink = sink
    }

    deinit {
        if !sent.load(ordering: .acquiring) { sink(nil) }
    }

    /// Answers the request.
    package func send(_ response: HTTPResponse) {
        let first = sent.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        precondition(first, "A request is answered exactly once")
        sink(response)
    }
}
