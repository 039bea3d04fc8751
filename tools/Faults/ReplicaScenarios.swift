import PealModel
import PealReplica

/// What a device's file goes through.
extension Scenario {
    /// Every scenario of a replica.
    package static func replica() throws -> [Scenario] {
        try [replicaOpen(), replicaApply(), replicaAct(), replicaSession(), replicaSnapshot(), replicaAhead()]
    }

    /// A file that is not there yet, up to its first entries.
    package static func replicaOpen() throws -> Scenario {
        try replica("replica: a new file", prepare: { _ in }) { script in
            script.hub.publish()
            try script.connect()
            try script.pull()
        }
    }

    /// Batches: items, acts of others, marks, preferences, a catalogue, facts, an entry of a later version.
    package static func replicaApply() throws -> Scenario {
        try replica("replica: apply", prepare: filled) { script in
            let items = script.hub.items
            script.hub.other(.read(items: [items[1], items[2]], on: true, passive: false), uid: 101)
            script.hub.other(.archive(items: [items[3]], on: true), uid: 102)
            script.hub.other(.delete(items: [items[4]]), uid: 103)
            script.hub.setCatalogue()
            try script.pull()
            script.hub.other(.mark(.read, upTo: 8), uid: 104)
            script.hub.other(.preference(category: "a", channel: "email", enabled: false), uid: 105)
            script.hub.other(.track(item: items[5], event: "opened", data: nil), uid: 106)
            script.hub.append(bytes: Array(#"{"kind":"later","time":1}"#.utf8))
            for _ in 0..<20 { script.hub.publish(content: String(repeating: "x", count: 1_500)) }
            try script.pull()
        }
    }

    /// Acts of every kind, sent and settled.
    package static func replicaAct() throws -> Scenario {
        try replica("replica: acts", prepare: filled) { script in
            let items = script.hub.items
            try script.act(.read(items: [items[0], items[7]], on: true, passive: false))
            try script.act(.delete(items: [items[1]]))
            try script.act(.mark(.read, upTo: 9))
            try script.push()
            script.hub.publish()
            try script.act(.preference(category: "a", channel: "email", enabled: true))
            try script.act(.track(item: items[2], event: "opened", data: Array("{}".utf8)[...]))
            try script.pull()
        }
    }

    /// The life of a session: what is made durable around it.
    package static func replicaSession() throws -> Scenario {
        try replica("replica: a session", prepare: filled) { script in
            let items = script.hub.items
            try script.act(.archive(items: [items[3]], on: true))
            try script.connect()
            try script.push()
            try script.call("in flight again") { try $0.resetInFlight(retryAfter: nil) }
            try script.call("session ended", isDurable: false) { try $0.sessionEnded(code: nil, reason: "lost") }
            try script.call("fork") { try $0.fork() }
        }
    }

    /// A snapshot of several pages with an outbox beside it, and the log behind it, up to the swap.
    package static func replicaSnapshot() throws -> Scenario {
        try replica("replica: a snapshot", prepare: filled) { script in
            let items = script.hub.items
            try script.act(.read(items: [items[0], items[2]], on: true, passive: false))
            script.hub.other(.mark(.seen, upTo: 6), uid: 201)
            script.hub.other(.delete(items: [items[5]]), uid: 202)
            for _ in 0..<8 { script.hub.publish(content: String(repeating: "y", count: 1_200)) }
            try script.connect(.snapshot)
            let id = UInt64(script.hub.head)
            let at = script.hub.head
            var before = Position.max
            var isFirst = true
            while true {
                let page = script.hub.page(id: id, before: before, limit: 8, first: isFirst)
                try script.call("page", isDurable: false) { _ = try $0.stage(page) }
                if page.last { break }
                (before, isFirst) = (page.after, false)
                script.hub.publish()
            }
            let batch = script.hub.batch(from: at)
            try script.call("swap", isDurable: false) { _ = try $0.apply(batch) }
        }
    }

    /// The hub went back in time: the journal is offered again with the swap.
    package static func replicaAhead() throws -> Scenario {
        try replica("replica: a hub that went back", prepare: filled) { script in
            let items = script.hub.items
            let before = script.hub
            try script.act(.read(items: [items[0]], on: true, passive: false))
            try script.push()
            script.hub.publish()
            try script.pull()
            script.hub = before
            script.hub.publish("another")
            try script.connect(.ahead)
            let page = script.hub.page(id: UInt64(script.hub.head), limit: 50, first: true)
            try script.call("swap", isDurable: false) { _ = try $0.stage(page) }
        }
    }

    /// A file with items, touched and untouched, whose log and file are one.
    @Sendable private static func filled(_ folder: String) throws {
        let subject = try ReplicaSubject(folder, nil)
        subject.seed(900)
        _ = try subject.replica.hello(proof: Proof())
        let hub = filledHub()
        let hello = Hello(
            project: "project", inbox: ReplicaSubject.identity, replica: try subject.replica.replicaID(),
            proof: Proof(),
            attempt: 1, nonce: "", cursor: .start)
        _ = try subject.replica.welcomed(hub.welcome(hello, secret: "secret"))
        _ = try subject.replica.apply(hub.batch(from: 0))
    }

    private static func filledHub() -> TestHub {
        var hub = TestHub()
        for index in 0..<12 { hub.publish("item \(index)", category: "a", content: String(repeating: "z", count: 700)) }
        return hub
    }

    private static func replica(
        _ name: String, prepare: @escaping @Sendable (String) throws -> Void,
        script write: (inout ReplicaScript) throws -> Void
    ) throws -> Scenario {
        let folder = try Folder.make()
        defer { Folder.remove(folder) }
        try prepare(folder)
        var script = try ReplicaScript(folder, hub: name.hasSuffix("new file") ? TestHub() : filledHub())
        try write(&script)
        return Scenario(
            name: name, prepare: prepare, open: { try ReplicaSubject($0, $1) }, objection: ReplicaSubject.objection,
            steps: script.steps)
    }
}
