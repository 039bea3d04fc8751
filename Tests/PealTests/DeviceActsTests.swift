import PealHub
import PealModel
import PealReplica
import Testing

@testable import Peal

@Suite(.timeLimit(.minutes(2)))
struct DeviceActsTests {
    @Test func `a device that ends learns the outcome, and its session stops for good`() async throws {
        let bench = try Bench()
        let inbox = try await bench.client("a").device()
        try await inbox.perform(.interest(name: "news", on: true))
        try await inbox.perform(.token("t", platform: "web"))
        try await inbox.perform(.user(id: "Mary", proof: "nothing"))
        await inbox.connect()
        #expect(await eventually { await inbox.isSettled })
        let refused = try await inbox.outbox()
        #expect(refused.map(\.outcome?.code) == [.denied])
        #expect(try await inbox.interests() == ["news"])
        try await inbox.perform(.end)
        #expect(await eventually { await inbox.status.state == .stopped })
        #expect(try await inbox.outbox().map(\.id) == refused.map(\.id), "the end is settled")
        await inbox.close()
        await bench.stop()
    }

    @Test func `a fact and a choice of one device are there on the other`() async throws {
        let bench = try Bench()
        try await bench.publish("hello", users: ["Mary"])
        let one = try await bench.client("a").user(externalID: "Mary")
        let two = try await bench.client("b").user(externalID: "Mary")
        await one.connect()
        await two.connect()
        #expect(try await eventually { try await one.counts().total == 1 })
        let item = try await one.page(DeliveredQuery()).items[0].id
        try await one.perform(.track(item: item, event: "opened", data: nil))
        try await one.perform(.preference(category: "billing", channel: "email", enabled: false))
        #expect(
            try await eventually {
                let preferences = try await two.preferences()
                return try await two.facts(of: item).map(\.event) == ["opened"] && preferences.map(\.enabled) == [false]
            })
        await one.close()
        await two.close()
        await bench.stop()
    }
}
