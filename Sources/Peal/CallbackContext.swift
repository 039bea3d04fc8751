public import Dispatch

/// Where an app wants to be called back. Calls come one after the other, in the order of what happened, never under a lock; they may
/// call back in.
public struct CallbackContext: Sendable {
    private let enqueue: @Sendable (@escaping @Sendable () -> Void) -> Void

    private init(_ enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) { self.enqueue = enqueue }

    /// The main queue, and so the main actor. A process whose main thread neither runs an async `main` nor `dispatchMain()` is never
    /// called there.
    public static let main = queue(.main)

    /// A serial queue of the app's.
    public static func queue(_ queue: DispatchQueue) -> CallbackContext {
        CallbackContext { body in queue.async(execute: body) }
    }

    /// An actor of the app's. It is held until the client and all that it made are gone.
    public static func actor(_ actor: any Actor) -> CallbackContext {
        let (calls, continuation) = AsyncStream.makeStream(of: (@Sendable () -> Void).self)
        // One task, so that the order stays.
        Task { for await call in calls { await run(call, on: actor) } }
        // The stream ends with the last copy of the closure.
        return CallbackContext { body in continuation.yield(body) }
    }

    private static func run(_ call: @Sendable () -> Void, on actor: isolated any Actor) { call() }

    func run(_ body: @escaping @Sendable () -> Void) { enqueue(body) }
}
