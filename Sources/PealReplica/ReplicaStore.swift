package import PealModel

/// What a session needs of a replica (docs/sync.md sections 6 to 8): ``Replica`` in production; the simulator has one in memory too, and a
/// differential test ties the two.
///
/// Each call is one transaction, durable when it returns; a call that throws has changed nothing. One executor at a time.
package protocol ReplicaStore: AnyObject {
    /// See ``Replica/hello(proof:windowEntries:windowBytes:)``.
    func hello(proof: Proof, windowEntries: Int64, windowBytes: Int64) throws(ReplicaError) -> Hello
    /// See ``Replica/attemptRefused(last:)``.
    func attemptRefused(last: Int64) throws(ReplicaError)
    /// See ``Replica/welcomed(_:)``.
    func welcomed(_ welcome: Welcome) throws(ReplicaError) -> WelcomeCheck
    /// See ``Replica/apply(_:)``.
    func apply(_ batch: Batch) throws(ReplicaError) -> Applied
    /// See ``Replica/snapshotRequest()``.
    func snapshotRequest() throws(ReplicaError) -> SnapshotRequest
    /// See ``Replica/stage(_:)``.
    func stage(_ page: Page) throws(ReplicaError) -> Staged
    /// See ``Replica/nextPush(maximumCount:maximumBytes:)``.
    func nextPush(maximumCount: Int, maximumBytes: Int) throws(ReplicaError) -> Push?
    /// See ``Replica/nextDue()``.
    func nextDue() throws(ReplicaError) -> Milliseconds?
    /// See ``Replica/resetInFlight(retryAfter:)``.
    func resetInFlight(retryAfter: Milliseconds?) throws(ReplicaError)
    /// See ``Replica/settled(_:at:)``.
    func settled(_ settled: [Settled], at position: Position) throws(ReplicaError) -> Int64
    /// See ``Replica/fork(to:)``.
    func fork(to id: ReplicaID?) throws(ReplicaError)
    /// See ``Replica/sessionEnded(code:reason:)``.
    func sessionEnded(code: CloseCode?, reason: String) throws(ReplicaError)
}

extension Replica: ReplicaStore {}
