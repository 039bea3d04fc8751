import PealModel
import Testing

private let log = Admission.Log(epoch: 7, head: 20, floor: 5)
private let whole = Admission.Log(epoch: 7, head: 20, floor: 0)
private let known = Admission.Known(current: "n1", issued: "n2", attempt: 3)

private func judge(
    _ position: Position, epoch: UInt64? = 7, chain: UInt64 = 1, nonce: String = "n1", log: Admission.Log = log,
    known: Admission.Known? = known, hubChain: UInt64? = 1
) -> Admission.Mode {
    Admission.judge(
        cursor: Cursor(epoch: epoch, position: position, chain: chain), nonce: nonce, log: log, known: known,
        chain: hubChain)
}

@Test func `a cursor in the log with a good nonce resumes`() {
    #expect(judge(20) == .resume)
    #expect(judge(6) == .resume)
    #expect(judge(5) == .resume)
}

@Test func `the current and the last issued nonce are both good`() {
    #expect(judge(10, nonce: "n1") == .resume)
    #expect(judge(10, nonce: "n2") == .resume)
}

@Test func `a cursor below the floor needs a snapshot`() {
    #expect(judge(4) == .snapshot)
    #expect(judge(0) == .snapshot)
    #expect(judge(0, log: whole) == .resume)
}

@Test func `a cursor that proves that the hub went back is ahead`() {
    #expect(judge(21, hubChain: nil) == .ahead)
    #expect(judge(10, chain: 2) == .ahead)
    #expect(judge(10, epoch: 8) == .ahead)
    #expect(judge(10, hubChain: nil) == .ahead)
}

@Test func `a wrong nonce is a fork`() {
    #expect(judge(10, nonce: "n0") == .forked)
    #expect(judge(10, nonce: "") == .forked)
    // No copy has a nonce of an id that the hub does not know: the hub has forgotten it.
    #expect(judge(10, nonce: "n1", known: nil) == .ahead)
}

@Test func `the hub's way back is judged before the nonce, and never forks`() {
    for nonce in ["n0", "", "n1"] {
        for replica in [known, nil] {
            #expect(judge(21, nonce: nonce, known: replica, hubChain: nil) == .ahead)
            #expect(judge(10, epoch: 8, nonce: nonce, known: replica) == .ahead)
            #expect(judge(10, chain: 2, nonce: nonce, known: replica) == .ahead)
        }
    }
}

@Test func `the nonce is judged before the floor`() {
    #expect(judge(1, nonce: "n0") == .forked)
}

@Test func `an inconsistent cursor below the floor is ahead, not merely old`() {
    #expect(judge(1, chain: 9) == .ahead)
}

@Test func `a first contact registers, by log or by snapshot`() {
    #expect(judge(0, epoch: nil, chain: 0, nonce: "", log: whole, known: nil, hubChain: 0) == .resume)
    #expect(judge(0, epoch: nil, chain: 0, nonce: "", log: log, known: nil, hubChain: 0) == .snapshot)
}

@Test func `a first contact whose welcome was lost says hello again without a fork`() {
    let registered = Admission.Known(current: "", issued: "n1", attempt: 1)
    #expect(judge(0, epoch: nil, chain: 0, nonce: "", log: whole, known: registered, hubChain: 0) == .resume)
}

@Test func `a copy of a replica from before its first welcome is a fork`() {
    #expect(judge(0, epoch: nil, chain: 0, nonce: "", log: whole, known: known, hubChain: 0) == .forked)
    #expect(judge(0, epoch: nil, chain: 0, nonce: "n9", log: whole, known: nil, hubChain: 0) == .ahead)
}

@Test func `a new identity after a fork keeps its data and goes on from its cursor`() {
    #expect(judge(10, nonce: "", known: nil) == .resume)
    #expect(judge(4, nonce: "", known: nil) == .snapshot)
    #expect(judge(10, chain: 2, nonce: "", known: nil) == .ahead)
}
