import Foundation
import PealModel
import Testing

@testable import PealHub

@Suite struct HubActsTests {
    private let categories = [
        Catalogue.Category(
            slug: "billing", label: "Billing", channels: [Catalogue.Channel(slug: "email", label: "E-mail")])
    ]

    private func mutation(_ n: Int64, _ operation: PealModel.Operation) -> Mutation {
        Mutation(
            n: n, uid: UInt64(n) + 40, observed: 0, observedTime: 0, moment: .age(0), operation: operation)
    }

    @Test func `a new catalogue reaches whoever is connected, and others with their hello`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        _ = try device.welcome(hub.hello("mary"))
        let core = hub.server.core
        let key = try #require(core.project(hub.project.instance)).key
        let done = DispatchSemaphore(value: 0)
        core.setCatalogue(categories, in: key) { result in
            if case .success(let catalogue) = result, catalogue.version == 1 { done.signal() }
        }
        #expect(done.wait(timeout: .now() + 10) == .success)
        let catalogue = Catalogue(version: 1, categories: categories)
        #expect(try device.entries(through: 1).map(\.kind) == [.catalogue(catalogue)])
        let other = try TestDevice(hub)
        #expect(try other.welcome(hub.hello("bob")).head == 1)
        #expect(try other.entries(through: 1).map(\.kind) == [.catalogue(catalogue)])
    }

    @Test func `a choice of one device reaches the other`() throws {
        let hub = try TestHub()
        let phone = try TestDevice(hub)
        _ = try phone.welcome(hub.hello("mary"))
        let laptop = try TestDevice(hub)
        _ = try laptop.welcome(hub.hello("mary"))
        phone.send(.push([mutation(1, .preference(category: "billing", channel: "email", enabled: false))]))
        for device in [phone, laptop] {
            guard case .act(let act)? = try device.entries(through: 1).first?.kind else {
                throw RawHTTPError(what: "no act")
            }
            #expect(act.effect == .preference(PreferenceKey(category: "billing", channel: "email"), enabled: false))
        }
    }

    @Test func `a device that ends gets its outcome, and its session closes with 4201`() throws {
        let hub = try TestHub()
        let device = try TestDevice(hub)
        var hello = hub.hello("x")
        hello.inbox = .device(id: nil)
        _ = try device.welcome(hello)
        device.send(.push([mutation(1, .end)]))
        #expect(try device.frame() == .settled([Settled(n: 1, uid: 41, outcome: .applied)], at: 0))
        #expect(try device.closeCode() == CloseCode.revoked.rawValue)
        #expect(hub.log.lines.isEmpty)
    }
}
