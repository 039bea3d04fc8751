import Dispatch
import Foundation
import PealHub
import Synchronization

@testable import Peal

/// What an observer of a store was told, in order.
final class StoreRecorder: NotificationStoreContentObserver, NotificationStoreCountObserver, Sendable {
    private let lines = Mutex<[String]>([])
    private let also: @Sendable (NotificationStore, String) -> Void

    init(_ also: @escaping @Sendable (NotificationStore, String) -> Void = { _, _ in }) { self.also = also }

    private func note(_ store: NotificationStore, _ line: String) {
        lines.withLock { $0.append(line) }
        also(store, line)
    }

    /// What came since the last call.
    func take() -> [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    var all: [String] { lines.withLock { $0 } }

    func didReloadStore(_ store: NotificationStore) { note(store, "reload \(store.count)") }
    func store(_ store: NotificationStore, didInsertNotificationsAt indexes: [Int]) { note(store, "insert \(indexes)") }
    func store(_ store: NotificationStore, didChangeNotificationAt indexes: [Int]) { note(store, "change \(indexes)") }
    func store(_ store: NotificationStore, didDeleteNotificationAt indexes: [Int]) { note(store, "delete \(indexes)") }
    func store(_ store: NotificationStore, didChangeHasNextPage hasNextPage: Bool) {
        note(store, "next \(hasNextPage)")
    }
    func store(_ store: NotificationStore, didChangeTotalCount count: Int) { note(store, "total \(count)") }
    func store(_ store: NotificationStore, didChangeUnreadCount count: Int) { note(store, "unread \(count)") }
    func store(_ store: NotificationStore, didChangeUnseenCount count: Int) { note(store, "unseen \(count)") }
}

extension Bench {
    /// A client that calls back on a queue of its own.
    func app(_ name: String, hub: String? = nil) throws -> PealClient {
        try PealClient(
            hub: hub ?? "http://127.0.0.1:\(self.hub.httpPort)", apiKey: self.hub.project.apiKey,
            directory: directory + "/" + name, callbacks: .queue(DispatchQueue(label: "app")))
    }

    /// Sends to a user through the inbox surface.
    func send(_ title: String, to user: String, category: String? = nil, topic: String? = nil) async throws {
        var members = "\"title\":\"\(title)\""
        if let category { members += ",\"category\":\"\(category)\"" }
        if let topic { members += ",\"topic\":\"\(topic)\"" }
        let body = "{\"notification\":{\(members),\"recipients\":[{\"external_id\":\"\(user)\"}]}}"
        try await post("/notifications", body)
    }

    /// Publishes by the native surface.
    func native(_ path: String, _ body: String) async throws {
        let code = Data("\(hub.project.apiKey):\(hub.project.secret)".utf8).base64EncodedString()
        let (status, answer) = try await HubAddress("http://127.0.0.1:\(hub.httpPort)").request(
            "POST", path.split(separator: "/").map(String.init), headers: ["Authorization": "Basic \(code)"],
            body: Array(body.utf8), seconds: 20)
        guard (200..<300).contains(status) else {
            throw PealError(.refused, String(decoding: answer, as: UTF8.self), status: status)
        }
    }

    /// Publishes to the hub as its operator.
    func post(_ path: String, method: String = "POST", _ body: String) async throws {
        let (status, answer) = try await HubAddress("http://127.0.0.1:\(hub.httpPort)").request(
            method, path.split(separator: "/").map(String.init),
            headers: [
                "X-MAGICBELL-API-KEY": hub.project.apiKey, "X-MAGICBELL-API-SECRET": hub.project.secret,
            ], body: Array(body.utf8), seconds: 20)
        guard (200..<300).contains(status) else {
            throw PealError(.refused, String(decoding: answer, as: UTF8.self), status: status)
        }
    }
}

extension User {
    /// Waits until everything that was done here has been answered, and all that the hub has is here.
    func settled() async throws -> Bool {
        let inbox = try await inbox()
        return await eventually { await inbox.isSettled }
    }
}
