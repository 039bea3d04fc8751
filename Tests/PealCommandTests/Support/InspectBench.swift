import Foundation
import PealModel
import PealReplica

/// Two devices' files of one inbox with something of everything, the same bytes of content each time: `phone.peal` and `laptop.peal`, and
/// what is run on them.
final class InspectBench {
    let directory: Directory
    var hub = TestHub()
    let clock = TestClock()

    init() throws {
        directory = try Directory()
        hub.setCatalogue(required: true)
        for number in 1...8 {
            hub.publish(
                "a title \(number)", category: number % 2 == 0 ? "billing" : nil, topic: "order:\(number)",
                content: "a text\u{1B}[31m")
        }
        hub.other(.read(items: [hub.items[1]], on: true, passive: false), uid: 11)
        hub.other(.archive(items: [hub.items[2]], on: true), uid: 12)
        hub.other(.mark(.read, upTo: 3), uid: 13)
        try makeLaptop()
        try makePhone()
    }

    var phone: String { directory.path + "/phone.peal" }
    var laptop: String { directory.path + "/laptop.peal" }

    func open(_ name: String, seed: UInt64) throws -> Replica {
        var options = ReplicaOptions()
        options.clock = clock.clock
        let source = Source(seed)
        options.random = { source.next() }
        return try Replica(
            path: directory.path + "/" + name, identity: .user(externalID: "Mary", email: nil), project: "shop",
            options: options)
    }

    private func makeLaptop() throws {
        let replica = try open("laptop.peal", seed: 2)
        try connect(replica)
        _ = try replica.apply(hub.batch(from: 0))
        try replica.sessionEnded(code: .draining, reason: "the hub stops")
    }

    private func makePhone() throws {
        let replica = try open("phone.peal", seed: 1)
        try connect(replica)
        _ = try replica.apply(hub.batch(from: 0))
        try replica.enqueue(.seen(items: [hub.items[5]]))
        try replica.enqueue(.preference(category: "a", channel: "email", enabled: false))
        try push(replica)
        clock.advance(60_000)
        hub.append(bytes: Array(#"{"kind":"new","time":1700000000500,"text":"a title 9"}"#.utf8))
        _ = try replica.apply(hub.batch(from: try replica.cursor().position))
        try replica.sessionEnded(code: nil, reason: "the connection was lost")
        clock.advance(60_000)
        try connect(replica)
        try replica.enqueue(.read(items: [hub.items[4]], on: true, passive: false))
        _ = try replica.nextPush()
        try replica.enqueue(.archive(items: [hub.items[6]], on: true))
        try replica.enqueue(.track(item: hub.items[7], event: "answered", data: Array(#"{"text":"a text"}"#.utf8)[...]))
    }

    private func connect(_ replica: Replica) throws {
        let hello = try replica.hello(proof: Proof())
        _ = try replica.welcomed(hub.welcome(hello, nonce: "a nonce", secret: "a secret"))
    }

    private func push(_ replica: Replica) throws {
        let id = try replica.replicaID()
        while let push = try replica.nextPush() {
            for mutation in push.mutations { hub.process(mutation, by: id) }
            _ = try replica.apply(hub.batch(from: try replica.cursor().position))
        }
    }

    /// Runs `peal` in the bench's folder, so that paths in what it says are the same each time.
    func run(_ words: [String]) throws -> Finished {
        let process = Peal.process(words)
        process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        return try Peal.finish(process)
    }

    /// A seeded generator behind a closure; on one thread, by one replica.
    private final class Source: @unchecked Sendable {
        private var generator: Seeded
        init(_ seed: UInt64) { generator = Seeded(seed) }
        func next() -> UInt64 { generator.next() }
    }
}

/// What commands say, kept in `Golden`; `PEAL_RECORD=1` writes it anew.
enum GoldenText {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Golden").path

    /// The difference to what is kept; nil where there is none.
    static func difference(_ name: String, _ text: String) throws -> String? {
        let path = folder + "/" + name + ".txt"
        if ProcessInfo.processInfo.environment["PEAL_RECORD"] != nil {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            return nil
        }
        let kept = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return kept == text ? nil : "\(name): kept:\n\(kept)\nnow:\n\(text)"
    }

    /// A command and all that it did, as it is kept. Sizes depend on SQLite's version.
    static func transcript(_ words: [String], _ done: Finished) -> String {
        var text = "$ peal " + words.joined(separator: " ") + "\n" + done.output
        if !done.errors.isEmpty { text += "--- standard error\n" + done.errors }
        text += "--- exit code \(done.status)\n"
        for pattern in ["[0-9]+ bytes", "log [0-9]+, free [0-9]+", "Bytes\":[0-9]+"] {
            let shown = pattern.replacingOccurrences(of: "[0-9]+", with: "N")
            text = text.replacingOccurrences(of: pattern, with: shown, options: .regularExpression)
        }
        return text
    }
}
