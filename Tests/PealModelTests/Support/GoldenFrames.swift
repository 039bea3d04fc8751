import PealModel

/// A frame in either direction.
enum GoldenFrame: Equatable {
    case up(UpFrame)
    case down(DownFrame)

    var bytes: [UInt8] {
        switch self {
        case .up(let frame): frame.bytes
        case .down(let frame): frame.bytes
        }
    }

    /// Decodes in the direction of this frame.
    func decode(_ bytes: RawJSON) throws -> GoldenFrame {
        switch self {
        case .up: .up(try UpFrame(bytes))
        case .down: .down(try DownFrame(bytes))
        }
    }
}

/// What each file of schema/wire/v1 holds, as values.
enum GoldenFrames {
    static let all = up.merging(down) { first, _ in first }

    private static let replica = ReplicaID(high: 0x1f3a_90c4_77de_0b52, low: 0x8e61_d20f_4bb7_39a8)
    private static let older = ReplicaID(high: 0x00aa_11bb_22cc_33dd, low: 0x44ee_55ff_6600_7711)
    private static let device = Author.replica(replica)
    private static let other = Author.replica(older)
    private static let epoch: UInt64 = 0x0e90_c400_0000_0001
    private static let chain: UInt64 = 0xc4a1_0000_0000_002a
    private static let time: Milliseconds = 1_796_000_000_000

    static func id(_ number: UInt64) -> ItemID { ItemID(time: time, counter: number, random: 5 * number) }

    // MARK: Up

    private static let up: [String: GoldenFrame] = [
        "hello.first-contact": hello(.user(externalID: "user-7", email: nil), Proof(hmac: "q83vEjRWeJA="), .start),
        "hello.resume": hello(
            .user(externalID: "user-7", email: "ada@example.org"), Proof(secret: "s3cr3t"),
            Cursor(epoch: epoch, position: 42, chain: chain), nonce: "n-11", attempt: 12, outbox: 3...7),
        "hello.token": hello(
            .user(externalID: nil, email: "ada@example.org"), Proof(token: "header.payload.signature"), .start),
        "hello.device": hello(.device(id: "device-9"), Proof(secret: "s3cr3t"), .start, nonce: "n-1", attempt: 2),
        "hello.new-device": hello(.device(id: nil), Proof(), .start),
        "hello.after-fork": hello(
            .user(externalID: "user-7", email: nil), Proof(secret: "s3cr3t", replica: older),
            Cursor(epoch: epoch, position: 42, chain: chain)),
        "got": .up(.got(to: 42)),
        "push.read": push(
            .read(items: [id(1), id(2)], on: true, passive: false), .read(items: [id(3)], on: true, passive: true),
            .read(items: [id(1)], on: false, passive: false)),
        "push.seen-archive-delete": push(
            .seen(items: [id(1)]), .archive(items: [id(1)], on: true), .archive(items: [id(2)], on: false),
            .delete(items: [id(3)])),
        "push.mark": push(.mark(.read, upTo: 40), .mark(.seen, upTo: 41), .mark(.archive, upTo: 12)),
        "push.preference-track": push(
            .preference(category: "billing", channel: "email", enabled: false),
            .track(item: id(1), event: "answered", data: raw(#"{"choice":"b"}"#)),
            .track(item: id(1), event: "opened", data: nil)),
        "push.interests": push(
            .interest(name: "news.eu", on: true), .interest(name: "news.us", on: false),
            .interests(replace: ["a", "b"])),
        "push.device": push(
            .token("apns-token"), .token("fcm-token", platform: "fcm"), .user(id: "user-7", proof: "q83vEjRWeJA="),
            .user(id: nil, proof: nil), .end),
        "push.suspect": .up(
            .suspect(
                Mutation(
                    n: 4, uid: 0x4, observed: 40, observedTime: time, moment: .age(9_000),
                    operation: .delete(items: [id(1)])))),
        "push.void": push(.void(reason: "the row could not be read")),
        "push.wall-clock": .up(
            .push([
                Mutation(
                    n: 9, uid: 0x9, observed: 40, observedTime: time, moment: .wall(time + 5_000),
                    operation: .seen(items: [id(1)]))
            ])),
        "snapshot.new": .up(.snapshot(SnapshotRequest())),
        "snapshot.continue": .up(.snapshot(SnapshotRequest(id: 42, after: 17, at: 44, chain: chain))),
        "token": .up(.token("header.payload.signature")), "ping": .up(.ping), "pong": .up(.pong), "bye": .up(.bye),
    ]

    private static func hello(
        _ inbox: InboxIdentity, _ proof: Proof, _ cursor: Cursor, nonce: String = "", attempt: Int64 = 1,
        outbox: ClosedRange<Int64> = 0...0
    ) -> GoldenFrame {
        .up(
            .hello(
                Hello(
                    project: "project-key", inbox: inbox, replica: replica, proof: proof, attempt: attempt,
                    nonce: nonce,
                    cursor: cursor, outbox: outbox)))
    }

    private static func push(_ operations: PealModel.Operation...) -> GoldenFrame {
        .up(
            .push(
                operations.enumerated().map { index, operation in
                    Mutation(
                        n: Int64(index) + 3, uid: 0xace0_0000_0000_0000 | UInt64(index), observed: 40,
                        observedTime: time, moment: .age(1_500), operation: operation)
                }))
    }

    // MARK: Down

    private static let down: [String: GoldenFrame] = [
        "welcome.first-contact": welcome(.resume, nonce: "n-1", secret: "s3cr3t"),
        "welcome.resume": welcome(
            .resume, lastN: 7,
            settled: [
                Settled(n: 6, uid: 0x6, outcome: .applied),
                Settled(n: 7, uid: 0x7, outcome: Outcome(.superseded, author: other, position: 41)),
            ]),
        "welcome.snapshot": welcome(.snapshot), "welcome.ahead": welcome(.ahead),
        "welcome.ahead.no-reoffer": welcome(.ahead, reoffer: false), "welcome.forked": welcome(.forked),
        "batch.item-and-act": batch(
            .item(id: id(1), publish: "publish-1", body: body),
            act(.read(items: [id(1)], on: true, passive: false, unseen: [])),
            sum: 0x5),
        "batch.every-effect": batch(
            act(.none), act(.read(items: [id(1), id(2)], on: false, passive: false, unseen: [id(2)])),
            act(.read(items: [id(3)], on: true, passive: true, unseen: [])), act(.seen(items: [id(1)])),
            act(.archive(items: [id(1)], on: true)), act(.delete(items: [id(1)])),
            act(.mark(.read, upTo: 40, except: [id(2)])), act(.mark(.seen, upTo: 41, except: [])),
            act(.mark(.archive, upTo: 9, except: [])), act(.interest(name: "news.eu", on: true)),
            act(.interests(["a", "b"]))),
        "batch.preference-fact": batch(
            act(
                .read(items: [id(1)], on: true, passive: false, unseen: [], alsoSeen: [id(2)]),
                results: [
                    ItemOutcome(items: [id(2)], outcome: Outcome(.superseded, author: .api, position: 12))
                ]),
            act(.preference(PreferenceKey(category: "billing", channel: "email"), enabled: false)),
            act(.fact(item: id(1), event: "answered", data: raw(#"{"choice":"b"}"#))),
            act(.fact(item: id(1), event: "opened", data: nil))),
        "batch.device": batch(
            act(.token("apns-token", platform: "apns")), act(.token("", platform: nil)), act(.user(id: "user-7")),
            act(.user(id: nil)), act(.end)),
        "batch.catalogue": batch(.catalogue(catalogue)),
        "batch.every-outcome": batch(
            act(
                .read(items: [id(4)], on: true, passive: false, unseen: []),
                results: [
                    ItemOutcome(items: [id(1), id(5)], outcome: .gone),
                    ItemOutcome(items: [id(2)], outcome: Outcome(.superseded, author: .api, position: 12)),
                    ItemOutcome(items: [id(3)], outcome: .noop),
                ]),
            act(.none, .noop), act(.none, Outcome(.superseded, author: other, position: 41)), act(.none, .gone),
            act(.none, .duplicate), act(.none, Outcome(.denied, reason: "This category is required.")),
            act(.none, Outcome(.invalid, reason: "'on' is missing")),
            act(.none, Outcome(.tooLarge, reason: "Too many.")),
            act(.none, Outcome(.unknownOp, reason: "This hub does not know what was done.")),
            act(.none, Outcome(.poison, reason: "The hub failed on it.")),
            act(.none, Outcome(.void, reason: "row lost"))),
        "batch.api": batch(
            .act(
                Act(
                    author: .api, n: nil, uid: 0x11, itime: time, outcome: .applied,
                    effect: .archive(items: [id(1)], on: false)))),
        "batch.removed": batch(
            .removed(items: [id(1), id(2)], why: "retract"), .removed(items: [id(3)], why: "expired")),
        "batch.bodies": batch(
            .item(id: id(1), publish: "publish-1", body: fullBody),
            .item(
                id: id(2), publish: "publish-2",
                body: ItemBody(title: "quiet \u{1F515} \"x\" \\ \n", sent: time, silent: true).bytes[...])),
        "batch.later-kind": .down(
            .batch(
                Batch(
                    session: 0xab, from: 41, to: 42, chain: chain,
                    entries: [raw(#"{"kind":"weather","time":1796000000000,"version":3}"#)]))),
        "page.first": .down(
            .page(
                Page(
                    id: 42, at: 42, chain: chain, rows: [row(2), row(1)], after: 17, last: false,
                    rest: Page.Rest(marks: marks)))),
        "page.preferences": .down(
            .page(
                Page(
                    id: 42, at: 42, chain: chain, rows: [trackedRow], after: 0, last: true,
                    rest: Page.Rest(preferences: cells, catalogue: catalogue)))),
        "page.device": .down(
            .page(
                Page(
                    id: 42, at: 42, chain: chain, rows: [], after: 0, last: true,
                    rest: Page.Rest(interests: ["a", "b"]), sum: 0))),
        "page.last": .down(
            .page(Page(id: 42, at: 44, chain: chain, rows: [touchedRow], after: 1, last: true, sum: 0x77))),
        "settled": .down(
            .settled(
                [
                    Settled(n: 4, uid: 0x4, outcome: .applied),
                    Settled(n: 5, uid: 0x5, outcome: Outcome(.poison, reason: "The hub failed on it.")),
                ], at: 42)),
        "busy": .down(.busy(retryAfter: 750)), "renew": .down(.renew(in: 60)),
        "renewed": .down(.renewed(expires: time)),
        "drain": .down(.drain(low: 0, high: 30_000)),
        "error.attempt": .down(
            .error(code: "attempt", retry: true, message: "the attempt is not higher than the last", last: 12)),
        "error.plain": .down(.error(code: "internal", retry: false, message: "something failed", last: nil)),
    ]

    private static func welcome(
        _ mode: Admission.Mode, lastN: Int64 = 0, settled: [Settled] = [], nonce: String = "n-12",
        secret: String? = nil, reoffer: Bool = true
    ) -> GoldenFrame {
        .down(
            .welcome(
                Welcome(
                    session: 0xab, mode: mode, epoch: epoch, inbox: "inbox-1", head: 42, lastN: lastN,
                    lastUID: lastN > 0 ? 0x7 : nil, settled: settled, attempt: 12, nonce: nonce, secret: secret,
                    time: time, reoffer: reoffer)))
    }

    private static func act(
        _ effect: Act.Effect, _ outcome: Outcome = .applied, results: [ItemOutcome] = []
    ) -> Entry.Kind {
        .act(
            Act(
                author: device, n: 3, uid: 0xace0, itime: time - 1_500, outcome: outcome, results: results,
                effect: effect))
    }

    private static func batch(_ kinds: Entry.Kind..., sum: UInt64? = nil) -> GoldenFrame {
        .down(
            .batch(
                Batch(
                    session: 0xab, from: 41, to: 41 + Int64(kinds.count), chain: chain,
                    entries: kinds.map { Entry(time: time, kind: $0).bytes[...] }, sum: sum)))
    }

    private static let body = ItemBody(title: "Your order has shipped", content: "It arrives on Friday.", sent: time)
        .bytes[...]

    private static let fullBody = ItemBody(
        title: "Survey", content: "How was it?", type: "survey", media: "https://example.org/a.png", category: "orders",
        topic: "order:42", interests: ["dogs", "orders=eu"], actionURL: "https://example.org/orders/42",
        attributes: raw(#"{"choices":["a","b"],"weight":1.50}"#),
        payload: raw(#"{"apns":{"aps":{"badge":1}}}"#), sent: time, expires: time + 86_400_000
    ).bytes[...]

    private static let marks = Marks(
        read: Frontier([Mark(upTo: 30, version: 31), Mark(upTo: 12, version: 40)]),
        seen: Frontier([Mark(upTo: 30, version: 31)]), archive: Frontier([Mark(upTo: 3, version: 9)]))

    private static let catalogue = Catalogue(
        version: 3,
        categories: [
            Catalogue.Category(
                slug: "billing", label: "Billing",
                channels: [
                    Catalogue.Channel(slug: "in_app", label: "In the app", required: true),
                    Catalogue.Channel(slug: "email", label: "E-mail", enabled: false),
                ]),
            Catalogue.Category(slug: "empty", label: "Nothing yet", channels: []),
        ])

    private static let cells: [PreferenceKey: PreferenceCell] = [
        PreferenceKey(category: "billing", channel: "email"): PreferenceCell(
            Register(value: true, passive: false, since: 30, rank: 30, itime: time, author: device, uid: 0x30),
            off: OptOut(since: 28, author: other, uid: 0x28), otherOff: OptOut(since: 20, author: .api, uid: 0x20)),
        PreferenceKey(category: "billing", channel: "sms"): PreferenceCell(
            Register(value: false, passive: false, since: 31, rank: 31, itime: time, author: device, uid: 0x31)),
    ]

    private static var trackedRow: SnapshotRow {
        var row = row(1)
        row.facts = [
            Fact(event: "opened", time: time),
            Fact(event: "answered", time: time + 5_000, data: raw(#"{"choice":"b"}"#)),
        ]
        return row
    }

    private static func row(_ number: UInt64) -> SnapshotRow {
        SnapshotRow(
            id: id(number), publish: "publish-\(number)", time: time, body: body,
            state: ItemState(position: Position(number)))
    }

    private static var touchedRow: SnapshotRow {
        var row = row(1)
        row.state.read = Register(
            value: false, passive: false, since: 20, rank: 31, itime: time, author: other, uid: 0x20)
        row.state.archived = Register(
            value: true, passive: true, since: 21, rank: 21, itime: time, author: .api, uid: 0x21)
        row.state.seen = true
        return row
    }
}
