import PealModel

/// The replica's end, brought to a state in one line.
enum DeviceBench {
    static let session: UInt64 = 5

    /// All timers of a connection, as they are cancelled when it ends.
    static let cancels: [DeviceSession.Action] = [
        .cancel(.greeting), .cancel(.got), .cancel(.stall), .cancel(.healthy), .cancel(.probe), .cancel(.busy),
        .cancel(.push),
    ]

    static let forkActions: [DeviceSession.Action] = [
        .fork, .report("this replica was restored or copied; it goes on under a new id"),
    ]

    static func welcome(
        _ mode: Admission.Mode = .resume, head: Position = 0, attempt: Int64 = 1
    ) -> Welcome {
        Welcome(
            session: session, mode: mode, epoch: 7, inbox: "i", head: head, attempt: attempt, nonce: "n1", time: 1_000)
    }

    /// A session whose hello with attempt 1 is on its way.
    static func greeting(seed: UInt64 = 1) -> DeviceSession {
        var device = DeviceSession(seed: seed)
        _ = device.start()
        _ = device.opened()
        _ = device.greeted(attempt: 1)
        return device
    }

    static func live(
        _ mode: Admission.Mode = .resume, at position: Position = 0, head: Position = 0, outbox: Bool = false,
        seed: UInt64 = 1
    ) -> DeviceSession {
        var device = greeting(seed: seed)
        device.become(mode, at: position, head: head, outbox: outbox)
        return device
    }

    static func batch(_ from: Position, _ to: Position, session: UInt64 = session) -> Batch {
        Batch(
            session: session, from: from, to: to, chain: 1,
            entries: Array(repeating: raw(#"{"kind":"x","time":1}"#), count: Int(to - from)))
    }

    static func page(at: Position, last: Bool) -> Page {
        Page(id: 10, at: at, chain: 1, rows: [], after: 0, last: last)
    }
}

extension DeviceSession {
    /// From the hello to a live session.
    mutating func become(
        _ mode: Admission.Mode = .resume, at position: Position = 0, head: Position = 0, outbox: Bool = false,
        attempt: Int64 = 1
    ) {
        _ = received(.welcome(DeviceBench.welcome(mode, head: head, attempt: attempt)), bytes: 300)
        _ = welcomed(at: position, outbox: outbox)
    }

    /// From the end of a connection to the next live session.
    mutating func reconnect(attempt: Int64) {
        _ = fired(.reconnect)
        _ = opened()
        _ = greeted(attempt: attempt)
        become(attempt: attempt)
    }

    /// Takes a batch and folds it.
    mutating func fold(_ batch: Batch, bytes: Int = 100, settledThrough: Int64 = 0) -> [Action] {
        guard received(.batch(batch), bytes: bytes) == [.apply(batch)] else { return [] }
        return applied(to: batch.to, settledThrough: settledThrough, swapped: false)
    }
}

extension [DeviceSession.Action] {
    /// The delay after which the next connection is tried; nil where none is planned.
    var reconnectDelay: Milliseconds? {
        for case .schedule(.reconnect, let delay) in self { return delay }
        return nil
    }
}
