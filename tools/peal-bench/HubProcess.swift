import CPealBench
import Foundation
import PealHub
import PealModel

/// A hub as a process of its own, for benches whose devices must not share its CPU accounts.
enum HubProcess {
    /// Serves until its input ends. A line that comes is answered by what the process has used: CPU microseconds, and statements and
    /// commits where `count` was given.
    static func serve(_ words: [String]) throws {
        if words.contains("count") { statement_count_start() }
        let given = words.first { $0 != "count" }
        let (hub, directory) = try makeHub(in: given)
        print("\(hub.httpPort) \(hub.project.instance) \(hub.project.apiKey) \(hub.project.secret)")
        while readLine() != nil { print("\(processCPU()) \(statement_count()) \(commit_count())") }
        hub.stop()
        if given == nil { try? FileManager.default.removeItem(atPath: directory) }
    }
}

/// A hub's file with one user's inbox of so many items.
enum HubFile {
    /// Makes it in a directory, through the store's own publishing. The log is trimmed to its last `kept` entries, so that whoever
    /// comes new gets a snapshot; 0 leaves it whole.
    static func make(in directory: String, items: Int, kept: Int64) throws {
        // The first start makes the project.
        try makeHub(in: directory).hub.stop()
        let store = try SQLiteHubStore(
            path: directory + "/hub.sqlite", retention: kept > 0 ? Retention(entries: kept) : Retention())
        try store.begin()
        guard let project = try store.projects().first?.key else { throw Failure("the hub has no project") }
        try store.commit()
        let begin = Milliseconds(Date().timeIntervalSince1970 * 1_000) - Milliseconds(items)
        for first in stride(from: 1, through: items, by: 1_000) {
            try store.begin()
            for index in first..<min(first + 1_000, items + 1) {
                let time = begin + Milliseconds(index)
                _ = try store.publish(
                    PublishRequest(
                        project: project, name: "pubid-\(index)", body: Source.body(index, sent: time),
                        recipients: [.init(identity: UserIdentity(externalID: "bench"))]), now: time)
            }
            try store.commit()
        }
        var isTrimming = kept > 0
        while isTrimming {
            try store.begin()
            isTrimming = try store.upkeep(limit: 100_000, now: begin + Milliseconds(items))
            try store.commit()
        }
        try store.close()
    }
}
