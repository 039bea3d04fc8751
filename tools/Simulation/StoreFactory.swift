import Foundation
import PealHub
import PealHubMemory
import PealModel
import PealReplica

/// Makes the stores of a world: in memory, or the real ones on files in memory.
final class StoreFactory {
    let isSQLite: Bool
    private(set) var directory: String?
    private var count = 0

    init(sqlite: Bool) { isSQLite = sqlite }

    /// A path for a new file.
    func path() throws(HubStoreError) -> String {
        if directory == nil {
            let made = "/dev/shm/peal-sim-\(ProcessInfo.processInfo.processIdentifier)-\(UInt64.random(in: 0 ... .max))"
            do {
                try FileManager.default.createDirectory(atPath: made, withIntermediateDirectories: true)
            } catch {
                throw HubStoreError(.io, "no folder for files: \(error)")
            }
            directory = made
        }
        count += 1
        return "\(directory ?? "")/\(count).sqlite"
    }

    func hub(_ world: World) throws(HubStoreError) -> any SimulatedHubStore {
        isSQLite
            ? try SQLiteHubStore(
                path: path(), retention: world.schedule.shape.retention, random: SimRandom(seed: world.random.next()))
            : MemoryHubStore(seed: world.random.next(), retention: world.schedule.shape.retention)
    }

    func replica(
        _ identity: InboxIdentity, options: ReplicaOptions
    ) throws(ReplicaError) -> any SimulatedReplica {
        guard isSQLite else { return MemoryReplica(identity: identity, project: "key", options: options) }
        let path: String
        do throws(HubStoreError) {
            path = try self.path()
        } catch {
            throw ReplicaError(.ioError, "no place for a file: \(error)")
        }
        return try SQLiteReplica(path: path, identity: identity, options: options)
    }

    /// Removes what was made.
    func close(_ hub: SimHub?) {
        hub?.reader.close()
        if let directory { try? FileManager.default.removeItem(atPath: directory) }
    }
}
