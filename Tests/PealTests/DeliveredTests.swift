import Foundation
import PealHub
import PealModel
import PealReplica
import Testing

@testable import Peal

/// The list over all inboxes of a device: filters, pages, the live form, and how it is shown.
@Suite(.timeLimit(.minutes(4))) struct DeliveredTests {
    @Test func `every filter filters, across inboxes`() async throws {
        let bench = try Bench()
        let client = try bench.app("a")
        let device = try await bench.device(client, interests: ["apple"])
        let user = try client.connectUser(externalId: "mary")
        try await bench.native(#""users":["mary"],"title":"One cafe","category":"a","topic":"t""#)
        #expect(await client.lists(["One cafe"]))
        let between = Date()
        #expect(await eventually { Date() > between + 0.002 })
        try await bench.native(#""interests":["apple"],"title":"Two caf\u00e9s","type":"image","media":"http://x/y""#)
        try await bench.native(#""users":["mary"],"interests":["apple"],"title":"Three","category":"b""#)
        #expect(await eventually { (try? await device.page(DeliveredQuery()).items.count) == 2 })
        #expect(await client.lists(["Three", "Two caf\u{e9}s", "One cafe"]))
        let list = try await client.deliveredNotifications().notifications
        let expected: [(NotificationQuery, [String])] = [
            (NotificationQuery(type: "image"), ["Two cafés"]), (NotificationQuery(categories: ["a"]), ["One cafe"]),
            (NotificationQuery(categories: ["a", "b"], topics: ["t"]), ["One cafe"]),
            (NotificationQuery(text: "CAFE"), ["Two cafés", "One cafe"]),
            (NotificationQuery(text: "one caf"), ["One cafe"]),
            (NotificationQuery(since: between), ["Three", "Two cafés"]),
            (NotificationQuery(until: between), ["One cafe"]),
            (NotificationQuery(since: .distantFuture), []), (NotificationQuery(until: .distantPast), []),
        ]
        for (query, titles) in expected { #expect(try await client.titles(query) == titles, "\(query)") }
        let one = list[2]
        try await user.store.build().archive(one)
        #expect(try await client.titles(NotificationQuery(archived: true)) == ["One cafe"])
        #expect(try await client.titles().count == 2)
        try await user.store.build().markAllSeen()
        #expect(try await client.titles(NotificationQuery(seen: true)) == ["Three"])
        for limit in [0, 1_001] {
            let error = await #expect(throws: PealError.self) { try await client.deliveredNotifications(limit: limit) }
            #expect(error?.code == .invalid)
        }
        await device.close()
    }

    @Test(arguments: [1, 2, 3]) func `pages hold everything once while more arrives and users come and go`(
        _ seed: UInt64
    ) async throws {
        var random = SplitMix(seed)
        let bench = try Bench()
        let client = try bench.app("a")
        let device = try await bench.device(client, interests: ["apple"])
        for user in ["mary", "paul"] { try client.connectUser(externalId: user) }
        let targets = [#""interests":["apple"]"#, #""users":["mary"]"#, #""users":["paul"]"#]
        for number in 1...24 { try await bench.native(targets[random.next(3)] + ",\"title\":\"\(number)\"") }
        #expect(await eventually { (try? await client.titles().count) == 24 })
        let wanted = try await client.deliveredNotifications(limit: 100).notifications
        var seen: [DeliveredNotification] = []
        var cursor: NotificationCursor?
        var pages = 0
        repeat {
            let page = try await client.deliveredNotifications(after: cursor, limit: 1 + random.next(5))
            seen += page.notifications
            // Over a text, as an app keeps it.
            cursor = try page.next.map {
                try JSONDecoder().decode(NotificationCursor.self, from: JSONEncoder().encode($0))
            }
            #expect(cursor == page.next)
            pages += 1
            if pages % 2 == 0 {
                try await bench.native(targets[random.next(3)] + ",\"title\":\"new\"")
                let count = 24 + pages / 2
                #expect(await eventually { (try? await client.titles().count) == count })
            }
        } while cursor != nil
        #expect(seen == wanted, "seed \(seed)")
        // Somebody who leaves is on no further page, and whose place is kept for when they come back.
        let first = try await client.deliveredNotifications(limit: 6)
        _ = try await client.disconnect(client.connectUser(externalId: "paul"))
        let without = try await client.deliveredNotifications(after: first.next, limit: 1_000).notifications
        #expect(!without.contains { $0.inbox == .user(externalID: "paul", email: nil) })
        try client.connectUser(externalId: "paul")
        let all = try await client.deliveredNotifications(limit: 1_000).notifications
        let rest = try await client.deliveredNotifications(after: first.next, limit: 1_000).notifications
        #expect(first.notifications + rest == all, "seed \(seed)")
        await device.close()
    }

    @Test func `what came to a user and to the device is listed once, and read in both`() async throws {
        let bench = try Bench()
        let client = try bench.app("a")
        client.presenter = RecordingPresenter()
        let device = try await bench.device(client, interests: ["apple"])
        let mary = try client.connectUser(externalId: "mary")
        try client.connectUser(externalId: "paul")
        for number in 1...9 {
            let users = number % 3 == 0 ? #""users":["mary"],"# : ""
            try await bench.native(users + #""interests":["apple"],"title":"\#(number)""#)
        }
        try await bench.native(#""users":["mary","paul"],"title":"people""#)
        let all = ["people", "people"] + (1...9).reversed().map(String.init)
        #expect(await client.lists(all))
        #expect(await eventually { (try? await device.page(DeliveredQuery()).items.count) == 9 })
        #expect(try await client.titles() == all)
        let first = try await client.deliveredNotifications(limit: 4)
        let rest = try await client.deliveredNotifications(after: first.next, limit: 100)
        let list = first.notifications + rest.notifications
        #expect(list.map { $0.title ?? "" } == all)
        #expect(
            list.filter { ["3", "6", "9"].contains($0.title) }.allSatisfy { $0.inbox != InboxIdentity.device(id: nil) })
        // By its interests it is the device's.
        let apples = try await client.deliveredNotifications(NotificationQuery(interests: ["apple"])).notifications
        #expect(apples.count == 9 && apples.allSatisfy { $0.inbox == InboxIdentity.device(id: nil) })
        // Shown as the user's, and as the device's.
        for (notification, other) in [(list[2], "9"), (apples[3], "6")] {
            #expect(notification.title == other)
            try await client.show(notification)
        }
        #expect(await eventually { (try? await device.page(DeliveredQuery(read: true)).items.count) == 2 })
        let unread = all.filter { $0 != "9" && $0 != "6" }
        #expect(try await client.titles(NotificationQuery(read: false)) == unread)
        #expect(try await client.facts(of: list[2]).map(\.event) == ["opened"])
        #expect(try await client.facts(of: apples[0]).isEmpty, "it was opened once")
        // A user who leaves takes nothing with them that came to the device.
        try await client.disconnect(mary)
        #expect(await client.lists(["people"] + (1...9).reversed().map(String.init)))
        #expect(await client.lists(["9", "6"], NotificationQuery(read: true)))
        await device.close()
    }

    @Test func `a text that is no cursor is none`() throws {
        for text in [
            "", "1", "2.5", "1.x", "1.5.zz-1", "1.5.0000000000000001-0", "1.5.0000000000000001-1.0000000000000001-2",
            "1.5.",
        ] {
            #expect(NotificationCursor(text) == nil, "\(text)")
        }
        let cursor = NotificationCursor(time: 5, places: [1: 2, 3: 4])
        #expect(NotificationCursor(cursor.description) == cursor)
    }

    @Test func `a live list follows commits, acts, other processes, and who comes and goes`() async throws {
        let bench = try Bench()
        let client = try bench.app("a")
        let lists = Collected<[String]>()
        let pages = client.liveDeliveredNotifications(NotificationQuery(read: false), limit: 3)
        let reader = Task { for await page in pages { lists.add(page.notifications.map { $0.title ?? "" }) } }
        #expect(await eventually { lists.all == [[]] })
        let mary = try client.connectUser(externalId: "mary")
        try await bench.send("a", to: "mary")
        #expect(await eventually { lists.all.last == ["a"] })
        // The device's inbox is one that another object, or process, makes and connects.
        let device = try await bench.device(client, interests: ["apple"])
        for title in ["b", "c", "d"] { try await bench.native("\"interests\":[\"apple\"],\"title\":\"\(title)\"") }
        #expect(await eventually { lists.all.last == ["d", "c", "b"] })
        let item = try #require(try await device.page(DeliveredQuery()).items.first)
        try await device.perform(.read(items: [item.id], on: true, passive: false))
        #expect(await eventually { lists.all.last == ["c", "b", "a"] })
        try await mary.store.build().markAllRead()
        _ = try await client.disconnect(client.connectUser(externalId: "mary"))
        #expect(await eventually { lists.all.last == ["c", "b"] })
        #expect(zip(lists.all, lists.all.dropFirst()).allSatisfy { $0 != $1 }, "nothing is told twice")
        reader.cancel()
        await device.close()
    }

    @Test func `the system's presenter asks the desktop without a shell, and falls back to the terminal`() async throws
    {
        let directory = NSTemporaryDirectory() + "/peal-show-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let bench = try Bench()
        let client = try bench.app("a")
        try client.connectUser(externalId: "mary")
        try await bench.native(#""users":["mary"],"title":"-x $(id) \u001b[31m","content":"<b>&\nline""#)
        #expect(await eventually { (try? await client.titles().count) == 1 })
        let notification = try #require(try await client.deliveredNotifications().notifications.first)
        let program = directory + "/notify-send"
        func install(_ script: String) throws {
            try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(fileURLWithPath: program))
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        }
        #expect(SystemPresenter.findProgram(["PATH": directory, "DBUS_SESSION_BUS_ADDRESS": "x"]) == nil)
        try install("printf '%s|' \"$@\" > \(directory)/said")
        #expect(
            SystemPresenter.findProgram(["PATH": "/nowhere:" + directory, "DBUS_SESSION_BUS_ADDRESS": "x"]) == program)
        #expect(SystemPresenter.findProgram(["PATH": directory]) == nil)
        let printed = Collected<String>()
        client.presenter = SystemPresenter(appName: "App", program: program) { printed.add($0) }
        try await client.show(notification)
        let said = try String(contentsOfFile: directory + "/said", encoding: .utf8)
        #expect(said == "--app-name=App|--|-x $(id)  [31m|&lt;b&gt;&amp;\nline|")
        #expect(printed.count == 0)
        try install("exit 1")
        try await client.show(notification)
        #expect(printed.all == ["-x $(id)  [31m\n<b>&\nline\n"])
    }
}

/// A generator of a seed.
private struct SplitMix {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }
    mutating func next(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) % UInt64(bound))
    }
}
