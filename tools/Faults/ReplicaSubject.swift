import PealModel
import PealReplica

/// A replica under test.
final class ReplicaSubject: Subject {
    static let identity = InboxIdentity.user(externalID: "alice", email: nil)

    let replica: Replica
    private let source: Source

    /// Opens the file of a folder; it checkpoints after few pages, so that checkpoints are among what fails.
    init(_ folder: String, _ vfs: String?, identity: InboxIdentity = ReplicaSubject.identity) throws(ReplicaError) {
        let source = Source()
        var options = ReplicaOptions()
        options.clock = TestClock().clock
        options.random = { source.next() }
        options.vfs = vfs
        options.checkpointPages = 20
        self.source = source
        replica = try Replica(path: folder + "/file", identity: identity, project: "project", options: options)
    }

    func seed(_ step: Int) { source.seed(UInt64(step) + 1) }

    func problems() throws -> [String] {
        var problems = try replica.verify().checks.filter(\.isFailure).map {
            "the check '\($0.name)' fails: \($0.result)"
        }
        problems += try replica.inspect(integrity: true).problems ?? []
        if try replica.sum() != replica.computedSum() { problems.append("the sum of the rows is not the kept one") }
        return problems
    }

    static func objection(to error: any Error, of fault: Fault, opening folder: String?) -> String? {
        guard let error = error as? ReplicaError else { return "it is no ReplicaError" }
        if let folder, !error.message.contains(folder + "/file") { return "the file is not named" }
        let expected: [ReplicaError.Code] =
            switch fault.effect {
            case .io: [.ioError, .cantOpen]
            case .full, .short: [.full]
            case .cut: [.ioError, .cantOpen]
            case .memory: [.noMemory, .cantOpen]
            }
        return expected.contains(error.code) ? nil : "its code is not one of \(expected.map(\.rawValue))"
    }
}

/// Random bits of a seed, of which every call draws anew.
private final class Source: @unchecked Sendable {
    // Used on one thread, by one replica.
    private var generator = Seeded(0)
    func seed(_ seed: UInt64) { generator = Seeded(seed) }
    func next() -> UInt64 { generator.next() }
}

/// A replica's calls, made once against a hub so that its entries and answers are known.
struct ReplicaScript {
    var hub = TestHub()
    var steps: [Scenario.Step] = []
    private let pilot: ReplicaSubject

    /// Begins with the file of a folder.
    init(_ folder: String, hub: TestHub = TestHub()) throws {
        self.hub = hub
        pilot = try ReplicaSubject(folder, nil)
    }

    /// One more call, made at once on the pilot.
    mutating func call(
        _ name: String, isDurable: Bool = true, _ run: @escaping @Sendable (Replica) throws -> Void
    ) throws {
        let step = Scenario.Step(name: name, isDurable: isDurable) { subject in
            guard let subject = subject as? ReplicaSubject else { throw Misconceived("no replica") }
            try run(subject.replica)
        }
        pilot.seed(steps.count)
        steps.append(step)
        try step.run(pilot)
    }

    /// Hello and welcome.
    mutating func connect(_ mode: Admission.Mode = .resume) throws {
        let replica = try pilot.replica.replicaID()
        let hub = hub
        try call("hello") { _ = try $0.hello(proof: Proof()) }
        try call("welcome") { subject in
            // The attempt is not looked at.
            let hello = Hello(
                project: "project", inbox: ReplicaSubject.identity, replica: replica, proof: Proof(),
                attempt: 1, nonce: "", cursor: .start, outbox: 0...0)
            _ = try subject.welcomed(hub.welcome(hello, mode: mode, secret: "secret"))
        }
    }

    /// Folds all that the hub has.
    mutating func pull() throws {
        let batch = hub.batch(from: try pilot.replica.cursor().position)
        try call("apply", isDurable: false) { _ = try $0.apply(batch) }
    }

    /// An act of the person.
    mutating func act(_ operation: PealModel.Operation) throws {
        try call("enqueue \(operation.name)") { _ = try $0.enqueue(operation) }
    }

    /// Sends what waits, and lets the hub decide.
    mutating func push() throws {
        pilot.seed(steps.count)
        let push = try pilot.replica.nextPush()
        let replica = try pilot.replica.replicaID()
        for mutation in push?.mutations ?? [] { hub.process(mutation, by: replica) }
        steps.append(
            Scenario.Step(name: "push") { subject in
                guard try (subject as? ReplicaSubject)?.replica.nextPush() == push else {
                    throw Misconceived("another push than the first time")
                }
            })
    }
}
