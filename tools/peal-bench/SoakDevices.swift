import Foundation
import Peal
import PealModel
import PealReplica
import Synchronization

/// The devices of tools/soak: whole inboxes on files that act, delete what is old, come and go, until the input ends.
enum SoakDevices {
    private static let kept = 200

    /// Lines of standard input, read on a thread of their own: an end that the loop can look at.
    private final class Asked: Sendable {
        private let state = Mutex((waiting: 0, isOver: false))

        init() {
            Thread.detachNewThread { [self] in
                while readLine() != nil { state.withLock { $0.waiting += 1 } }
                state.withLock { $0.isOver = true }
            }
        }

        var isOver: Bool { state.withLock { $0.isOver } }

        func take() -> Bool {
            state.withLock { state in
                defer { state.waiting = 0 }
                return state.waiting > 0
            }
        }
    }

    /// Arguments: the hub's HTTP port, the project's key, users, a directory. Two devices a user. Says `ready`; a line that comes is
    /// answered by counts as JSON.
    static func run(_ words: [String]) async throws {
        guard words.count == 4, let users = Int(words[2]) else { throw Failure("PORT KEY USERS DIRECTORY") }
        var inboxes: [Inbox] = []
        for index in 0..<(2 * users) {
            let client = try PealClient(
                hub: "http://127.0.0.1:\(words[0])", apiKey: words[1], directory: words[3] + "/\(index)")
            let inbox = try await client.user(externalID: "u\(index / 2)")
            await inbox.connect()
            inboxes.append(inbox)
        }
        print("ready")
        let asked = Asked()
        var (acts, connections, round) = (0, 0, 0)
        while !asked.isOver {
            round += 1
            let inbox = inboxes[Int.random(in: 0..<inboxes.count)]
            if try await act(inbox) { acts += 1 }
            if round % 10 == 0 { try await deleteOld(inbox) }
            if round % 20 == 0 {
                await inbox.disconnect()
                await inbox.connect()
                connections += 1
            }
            if asked.take() {
                print(#"{"acts":\#(acts),"connections":\#(connections),"resident":\#(Int(residentBytes()))}"#)
            }
            try await Task.sleep(for: .milliseconds(25))
        }
        for inbox in inboxes { await inbox.close() }
    }

    private static func act(_ inbox: Inbox) async throws -> Bool {
        guard let item = try await inbox.page(DeliveredQuery(), limit: 20).items.randomElement() else { return false }
        let operation: PealModel.Operation =
            switch Int.random(in: 0..<10) {
            case 0...3: .read(items: [item.id], on: !item.read, passive: false)
            case 4, 5: .archive(items: [item.id], on: !item.archived)
            case 6: .mark(.read, upTo: item.number)
            default: .seen(items: [item.id])
            }
        try await inbox.perform(operation)
        return true
    }

    private static func deleteOld(_ inbox: Inbox) async throws {
        let items = try await inbox.page(DeliveredQuery(archived: nil), limit: kept + 200).items
        guard items.count > kept else { return }
        try await inbox.perform(.delete(items: items.dropFirst(kept).map(\.id)))
    }
}
