import PealModel
import Testing

@testable import PealHub

/// Lines of the hub about devices that were ahead of it or copies: soon, seldom, and counted once each.
@Suite struct RestoreNoticesTests {
    private func admitted(_ mode: Admission.Mode, replica: Int64) -> Admitted {
        Admitted(
            inbox: InboxKey(row: 1), replica: ReplicaKey(row: replica),
            welcome: Welcome(
                session: 1, mode: mode, epoch: 1, inbox: "i", head: 1, attempt: 1, nonce: "secret nonce", time: 1),
            sum: 0)
    }

    private func hello(nonce: String = "n", epoch: UInt64? = 1) -> Hello {
        Hello(
            project: "key", inbox: .user(externalID: "mary", email: nil), replica: ReplicaID(high: 1, low: 1),
            proof: Proof(secret: "secret"), attempt: 1, nonce: nonce,
            cursor: Cursor(epoch: epoch, position: 1, chain: 1))
    }

    @Test func `the first is told at once, a thousand more within a minute in one more line`() {
        var notices = RestoreNotices()
        #expect(notices.note(hello(), admitted(.ahead, replica: 1), now: 0).count == 1)
        for replica in 2...1_000 as ClosedRange<Int64> {
            #expect(notices.note(hello(), admitted(.ahead, replica: replica), now: replica).isEmpty)
        }
        #expect(notices.tick(now: 59_999).isEmpty)
        let lines = notices.tick(now: 60_000)
        #expect(lines.count == 1 && lines[0].hasPrefix("1000 devices so far had seen more"))
        #expect(notices.tick(now: 600_000).isEmpty, "nothing new, nothing said")
    }

    @Test func `a device that says hello again is counted once, and the two kinds are told apart`() {
        var notices = RestoreNotices()
        for _ in 0..<5 { _ = notices.note(hello(), admitted(.ahead, replica: 1), now: 0) }
        let forked = notices.note(hello(nonce: ""), admitted(.resume, replica: 2), now: 0)
        #expect(forked.count == 1 && forked[0].hasPrefix("1 device so far had a file"))
        #expect(notices.note(hello(nonce: ""), admitted(.resume, replica: 2), now: 90_000).isEmpty)
        #expect(notices.tick(now: 200_000).isEmpty)
        #expect(notices.note(hello(), admitted(.ahead, replica: 3), now: 200_000)[0].hasPrefix("2 devices"))
    }

    @Test func `a first contact, a resume, a snapshot and the order to fork are not told, and no line holds a secret`()
    {
        var notices = RestoreNotices()
        #expect(notices.note(hello(nonce: "", epoch: nil), admitted(.resume, replica: 1), now: 0).isEmpty)
        #expect(notices.note(hello(), admitted(.resume, replica: 2), now: 0).isEmpty)
        #expect(notices.note(hello(), admitted(.snapshot, replica: 3), now: 0).isEmpty)
        #expect(notices.note(hello(), admitted(.forked, replica: 4), now: 0).isEmpty)
        let line = notices.note(hello(), admitted(.ahead, replica: 5), now: 0)[0]
        #expect(!line.contains("secret") && !line.contains("mary"))
    }

    @Test func `a clock that is set back silences nothing`() {
        var notices = RestoreNotices()
        _ = notices.note(hello(), admitted(.ahead, replica: 1), now: 1_000_000)
        #expect(notices.note(hello(), admitted(.ahead, replica: 2), now: 5).count == 1)
    }
}
