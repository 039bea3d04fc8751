import Foundation
import PealHub
import PealModel
import Synchronization

@testable import Peal

/// What a client shows goes here.
final class RecordingPresenter: NotificationPresenter, Sendable {
    struct Failure: Error {}

    private let shown = Mutex<[DeliveredNotification]>([])
    private let fails: Bool

    init(fails: Bool = false) { self.fails = fails }

    var titles: [String] { shown.withLock { $0.map { $0.title ?? "" } } }

    func present(_ notification: DeliveredNotification) async throws {
        if fails { throw Failure() }
        shown.withLock { $0.append(notification) }
    }
}

extension Bench {
    /// Publishes on the native side: members of the body, such as `"users":["mary"],"title":"a"`.
    func native(_ members: String) async throws {
        _ = try await nativeCall("POST", ["v1", "publishes"], "{\(members)}")
    }

    /// Calls the native side as the project.
    func nativeCall(_ method: String, _ path: [String], _ body: String? = nil) async throws -> JSON {
        let credentials = Data("\(hub.project.apiKey):\(hub.project.secret)".utf8).base64EncodedString()
        let (status, answer) = try await HubAddress("http://127.0.0.1:\(hub.httpPort)").request(
            method, path, headers: ["Authorization": "Basic \(credentials)"], body: body.map { Array($0.utf8) },
            seconds: 20)
        guard (200..<300).contains(status) else {
            throw PealError(.refused, String(decoding: answer, as: UTF8.self), status: status)
        }
        return answer.isEmpty ? .null : try JSON(answer[...])
    }

    /// A device of a client that has interests, connected.
    func device(_ client: PealClient, interests: [String]) async throws -> Inbox {
        let inbox = try await client.device()
        await inbox.connect()
        for name in interests { try await inbox.perform(.interest(name: name, on: true)) }
        _ = await eventually { await inbox.isSettled }
        return inbox
    }
}

extension PealClient {
    /// Waits until a query lists what is expected, oldest last.
    func lists(_ titles: [String], _ query: NotificationQuery = NotificationQuery()) async -> Bool {
        await eventually {
            let page = try? await self.deliveredNotifications(query, limit: 1_000)
            return page?.notifications.map { $0.title ?? "" } == titles
        }
    }

    /// The titles of a query.
    func titles(_ query: NotificationQuery = NotificationQuery()) async throws -> [String] {
        try await deliveredNotifications(query, limit: 1_000).notifications.map { $0.title ?? "" }
    }
}

/// Values that callbacks bring, in order.
final class Collected<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    var all: [Value] { values.withLock { $0 } }
    var count: Int { values.withLock { $0.count } }
    func add(_ value: Value) { values.withLock { $0.append(value) } }
}
