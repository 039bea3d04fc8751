import PealModel
import PealHub
import PealHubMemory

/// The hub's store in memory; a copy costs a few reference counts.
extension MemoryHubStore: SimulatedHubStore {
    func copy(seed: UInt64) throws(HubStoreError) -> any SimulatedHubStore {
        let copy = MemoryHubStore(seed: seed, retention: retention)
        copy.restore(snapshot())
        return copy
    }

    convenience init(seed: UInt64, retention: Retention) {
        var random = SimRandom(seed: seed)
        self.init(retention: retention, random: { random.next() })
    }
}
