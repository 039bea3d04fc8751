import Foundation
import PealHub
import PealModel

/// The real hub store; a copy is a copy of its files, as a crash or a backup leaves them.
extension SQLiteHubStore: SimulatedHubStore {
    func copy(seed: UInt64) throws(HubStoreError) -> any SimulatedHubStore {
        let target = path + "-" + String(UInt64.random(in: 0 ... .max), radix: 36)
        do {
            for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: target + suffix)
            }
        } catch {
            throw HubStoreError(.io, "the file was not copied: \(error)")
        }
        return try SQLiteHubStore(path: target, retention: retention, random: SimRandom(seed: seed))
    }
}
