import Foundation
import PealHub
import PealModel
import PealReplica
import Synchronization
import Testing

@testable import Peal

/// The seed document on delivered notifications, from top to bottom, against a real hub.
@Suite(.timeLimit(.minutes(4))) struct SeedDeliveredTests {
    // "Bubbl provides the ability … to render a prebuilt component that display the device user with the notifications sent to their device": the
    // full example's view, without the drawing.
    private final class DeliveredNotificationsView: Sendable {
        struct State {
            var notifications: [DeliveredNotification] = []
            var error: (any Error)?
            var isLoading = true
        }
        let bubbl: PealClient
        let state = Mutex(State())

        init(_ bubbl: PealClient) { self.bubbl = bubbl }

        // body: what is drawn.
        var text: [String] {
            state.withLock { state in
                if state.error != nil { return ["Something went wrong..."] }
                if state.isLoading { return ["(progress)"] }
                if state.notifications.isEmpty { return ["No notifications"] }
                return state.notifications.map { notification in
                    let icon = leadingIcon(for: notification.type)
                    let date = formattedDeliveryDate(for: notification.notificationDeliveryDate)
                    return "\(icon) \(notification.title ?? "No title") \(date)"
                }
            }
        }

        func onAppear() { loadData() }

        func onTapGesture(_ index: Int) async {
            let notification = state.withLock { $0.notifications[index] }
            await withCheckedContinuation { done in bubbl.show(notification) { _ in done.resume() } }
        }

        private func loadData() {
            // fetch the notifications
            bubbl.getDeliveredNotifications { notifications, error in
                self.state.withLock { state in
                    state.isLoading = false
                    state.error = error
                    state.notifications = notifications ?? []
                }
            }
        }

        private func formattedDeliveryDate(for date: Date) -> String {
            let dateFormatter = DateFormatter()
            dateFormatter.dateFormat = "MMM d, yyyy h:mm a"
            return dateFormatter.string(from: date)
        }

        private func leadingIcon(for type: String) -> String {
            switch type {
            case "message": return "message"
            case "survey": return "doc.text.magnifyingglass"
            case "video": return "play.circle"
            case "image": return "photo"
            case "audio": return "speaker.wave.2"
            default: return "(empty)"
            }
        }
    }

    @Test func `the example is loading, then empty, then a list with an icon each, then an error`() async throws {
        let bench = try Bench()
        let client = try bench.app("a")
        let view = DeliveredNotificationsView(client)
        #expect(view.text == ["(progress)"])
        view.onAppear()
        #expect(await eventually { view.text == ["No notifications"] })

        let device = try await bench.device(client, interests: ["apple"])
        for type in ["message", "survey", "video", "image", "audio", "poll"] {
            try await bench.native(#""interests":["apple"],"type":"\#(type)","title":"a \#(type)""#)
        }
        #expect(await eventually { (try? await client.titles().count) == 6 })
        view.onAppear()
        #expect(await eventually { view.text.count == 6 })
        let icons = view.text.map { $0.split(separator: " ")[0] }
        let wanted = ["(empty)", "speaker.wave.2", "photo", "play.circle", "doc.text.magnifyingglass", "message"]
        #expect(icons == wanted.map { $0[...] }, "newest delivery first")
        let year = Calendar.current.component(.year, from: Date())
        #expect(view.text.allSatisfy { $0.contains(", \(year) ") && $0.contains(" a ") })

        // A file that cannot be read is an error, and the next look at a good one is none.
        try client.connectUser(externalId: "mary")
        #expect(await client.lists(["a poll", "a audio", "a image", "a video", "a survey", "a message"]))
        try await client.disconnect(client.connectUser(externalId: "mary"), force: true, eraseReplica: true)
        try Data("this is no replica".utf8).write(
            to: URL(fileURLWithPath: client.path(of: .user(externalID: "mary", email: nil))))
        try client.connectUser(externalId: "mary")
        view.onAppear()
        #expect(await eventually { view.text == ["Something went wrong..."] })
        #expect(view.state.withLock { ($0.error as? PealError)?.code } == .file)
        try await Self.end(client, "mary")
        view.onAppear()
        #expect(await eventually { view.text.count == 6 })
        await device.close()
        await bench.stop()
    }

    private static func end(_ client: PealClient, _ user: String) async throws {
        do throws(PealError) { _ = try await client.disconnect(client.connectUser(externalId: user)) } catch {
            #expect(error.code == .file)
        }
    }

    @Test func `what is sent while the device is offline is listed, all of it, and after a restart without a hub too`()
        async throws
    {
        let bench = try Bench()
        do {
            let client = try bench.app("a")
            let device = try await bench.device(client, interests: ["apple"])
            try client.connectUser(externalId: "mary")
            #expect(await eventually { client.status.state == .live })
            await device.close()
            _ = try await client.disconnect(client.connectUser(externalId: "mary"))
        }
        for number in 1...30 {
            try await bench.native(#""interests":["apple"],"title":"device \#(number)""#)
            try await bench.native(#""users":["mary"],"title":"mary \#(number)""#)
        }
        let wanted = (1...30).reversed().flatMap { ["mary \($0)", "device \($0)"] }
        do {
            let client = try bench.app("a")
            let device = try await bench.device(client, interests: [])
            try client.connectUser(externalId: "mary")
            #expect(await eventually { (try? await client.titles().count) == 60 })
            // Within a millisecond the order is that of the inboxes.
            #expect(try await Set(client.titles()) == Set(wanted))
            let (list, error) = await withCheckedContinuation { done in
                client.getDeliveredNotifications { done.resume(returning: ($0, $1)) }
            }
            #expect(error == nil && list?.count == 60)
            let dates = list?.map(\.notificationDeliveryDate) ?? []
            #expect(dates == dates.sorted(by: >))
            await device.close()
            _ = try await client.disconnect(client.connectUser(externalId: "mary"))
        }
        await bench.stop()
        // After a restart, with the hub away: the device's list without anybody, the user's with them.
        let client = try bench.app("a", hub: "http://127.0.0.1:1")
        #expect(try await client.titles() == (1...30).reversed().map { "device \($0)" })
        try client.connectUser(externalId: "mary")
        #expect(try await Set(client.titles()) == Set(wanted))
    }

    @Test
    func `a tap shows the notification and records that it was opened and read, here at once and on the second device`()
        async throws
    {
        let bench = try Bench()
        let client = try bench.app("a")
        let presenter = RecordingPresenter()
        client.presenter = presenter
        let device = try await bench.device(client, interests: ["apple"])
        try client.connectUser(externalId: "mary")
        let second = try bench.app("b")
        try second.connectUser(externalId: "mary")
        try await bench.native(#""users":["mary"],"title":"for mary""#)
        #expect(await client.lists(["for mary"]))
        try await bench.native(#""interests":["apple"],"title":"for apples""#)
        #expect(await client.lists(["for apples", "for mary"]))
        let view = DeliveredNotificationsView(client)
        view.onAppear()
        #expect(await eventually { view.text.count == 2 })
        #expect(try await client.titles(NotificationQuery(read: false)).count == 2)

        await view.onTapGesture(1)
        #expect(presenter.titles == ["for mary"])
        let mary = try #require(
            try await client.deliveredNotifications(NotificationQuery(read: true)).notifications.first)
        #expect(mary.title == "for mary" && mary.isSeen)
        #expect(try await client.facts(of: mary).map(\.event) == ["opened"])
        #expect(await second.lists(["for mary"], NotificationQuery(read: true)))
        #expect(try await eventually { try await second.facts(of: mary).map(\.event) == ["opened"] })

        // The device's too, through whoever has its connection; a second tap records nothing more.
        for _ in 1...2 { await view.onTapGesture(0) }
        #expect(presenter.titles == ["for mary", "for apples", "for apples"])
        #expect(try await client.titles(NotificationQuery(read: false)).isEmpty)
        #expect(try await eventually { try await device.outbox().isEmpty })
        let item = try #require(try await device.page(DeliveredQuery()).items.first)
        #expect(item.read)
        #expect(try await device.facts(of: item.id).count == 1)
        await device.close()
        await bench.stop()
    }

    @Test func `what cannot be shown is not recorded, and what is gone is not shown`() async throws {
        let bench = try Bench()
        let client = try bench.app("a")
        let user = try client.connectUser(externalId: "mary")
        try await bench.send("a", to: "mary")
        #expect(await client.lists(["a"]))
        let notification = try #require(try await client.deliveredNotifications().notifications.first)
        client.presenter = RecordingPresenter(fails: true)
        var error = await #expect(throws: PealError.self) { try await client.show(notification) }
        #expect(error?.code == .notPresented)
        #expect(try await client.titles(NotificationQuery(read: false)) == ["a"])
        #expect(try await client.facts(of: notification).isEmpty)

        let presenter = RecordingPresenter()
        client.presenter = presenter
        try await user.store.build().delete(notification)
        error = await #expect(throws: PealError.self) { try await client.show(notification) }
        #expect(error?.code == .gone && presenter.titles.isEmpty)
        _ = try await client.disconnect(client.connectUser(externalId: "mary"))
        error = await #expect(throws: PealError.self) { try await client.show(notification) }
        #expect(error?.code == .disconnected)
    }

    @Test func `an answer to a survey is kept offline, goes to the hub, and the first one counts`() async throws {
        let bench = try Bench()
        let survey =
            #""users":["mary"],"type":"survey","title":"How was it?","attributes":{"questions":["Food?","Room?"]}"#
        let publish = try await bench.nativeCall("POST", ["v1", "publishes"], "{\(survey)}")
        let name = try #require(publish["publish"]?["id"]?.stringValue)
        do {
            let client = try bench.app("a")
            try client.connectUser(externalId: "mary")
            #expect(await client.lists(["How was it?"]))
            _ = try await client.disconnect(client.connectUser(externalId: "mary"))
        }
        do {
            let offline = try bench.app("a", hub: "http://127.0.0.1:1")
            try offline.connectUser(externalId: "mary")
            let notification = try #require(try await offline.deliveredNotifications().notifications.first)
            #expect(notification.type == NotificationType.survey)
            #expect(notification.questions == .array([.string("Food?"), .string("Room?")]))
            let long = JSON.string(String(repeating: "x", count: 4_095))
            let error = await #expect(throws: PealError.self) { try await offline.answer(notification, with: long) }
            #expect(error?.code == .invalid)
            #expect(try await offline.facts(of: notification).isEmpty)
            let answer = JSON.object([("food", .number("5")), ("room", .string("good"))])
            #expect(try await offline.answer(notification, with: answer))
            #expect(try await offline.answer(notification, with: .null) == false)
            #expect(try await offline.facts(of: notification).first?.data == answer.bytes[...])
            _ = try await offline.disconnect(offline.connectUser(externalId: "mary"))
        }
        let client = try bench.app("a")
        try client.connectUser(externalId: "mary")
        #expect(
            try await eventually {
                let deliveries = try await bench.nativeCall("GET", ["v1", "publishes", name])
                return String(decoding: deliveries.bytes, as: UTF8.self).contains("\"food\":5")
            })
        let second = try bench.app("b")
        try second.connectUser(externalId: "mary")
        #expect(await second.lists(["How was it?"]))
        let there = try #require(try await second.deliveredNotifications().notifications.first)
        #expect(try await second.answer(there, with: .bool(true)) == false)
    }
}
