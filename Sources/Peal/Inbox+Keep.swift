import PealModel
import PealReplica
internal import PealSQLite

/// Keeping within the limits of ``Inbox/Configuration/keep``: whenever the session gets live, and every hour while it is.
extension Inbox {
    private static let letGoInterval: Milliseconds = 3_600_000

    func letGo() {
        stopLettingGo()
        guard configuration.keep != nil, lease != nil else { return }
        do throws(ReplicaError) {
            try replica.letGo()
        } catch {
            configuration.log("read items beyond the limits were not let go: \(error)")
        }
        letGoTimer = executor.post(afterMilliseconds: Self.letGoInterval) { [weak self] in
            self?.assumeIsolated { $0.letGo() }
        }
    }

    func stopLettingGo() {
        if let letGoTimer { executor.cancel(letGoTimer) }
        letGoTimer = nil
    }
}
