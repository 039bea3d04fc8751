import Foundation
import PealHub
import PealModel

/// A hub's file with many devices of one interest, for benches whose devices are mostly away.
enum DeviceFile {
    /// Arguments: the hub's directory, devices, interest. Through the store's own admission and push, a thousand devices a transaction.
    static func make(_ words: [String]) throws {
        guard words.count == 3, let devices = Int(words[1]) else { throw Failure("DIRECTORY DEVICES INTEREST") }
        let store = try SQLiteHubStore(path: words[0] + "/hub.sqlite")
        try store.begin()
        guard let project = try store.projects().first else { throw Failure("the hub has no project") }
        try store.commit()
        let now = Milliseconds(Date().timeIntervalSince1970 * 1_000)
        for first in stride(from: 0, to: devices, by: 1_000) {
            try store.begin()
            for index in first..<min(first + 1_000, devices) {
                let hello = Hello(
                    project: project.apiKey, inbox: .device(id: nil),
                    replica: ReplicaID(high: 1 << 40, low: UInt64(index)),
                    proof: Proof(), attempt: 1, nonce: "", cursor: .start)
                guard case .admitted(let admitted) = try store.admit(hello, project: project.key, now: now) else {
                    throw Failure("a device is not admitted")
                }
                let mutation = Mutation(
                    n: 1, uid: UInt64(index) + 1, observed: 0, observedTime: 0, moment: .age(0),
                    operation: .interest(name: words[2], on: true))
                _ = try store.push([mutation], from: admitted.replica, session: admitted.welcome.session, now: now)
            }
            try store.commit()
        }
        try store.close()
        print("ready")
    }
}
