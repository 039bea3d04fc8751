import PealModel
import Testing

private func itime(_ moment: Mutation.Moment, observedTime: Milliseconds, now: Milliseconds) -> Milliseconds {
    let mutation = Mutation(
        n: 1, uid: 1, observed: 0, observedTime: observedTime, moment: moment, operation: .void(reason: ""))
    return Resolver.resolve(mutation, by: phone, in: InboxState(), now: now).itime
}

@Test func `an age is taken from the hub's now, a wall clock as it is`() {
    #expect(itime(.age(250), observedTime: 100, now: 1_000) == 750)
    #expect(itime(.wall(600), observedTime: 100, now: 1_000) == 600)
}

@Test func `an act is never before what its person had seen`() {
    #expect(itime(.age(950), observedTime: 400, now: 1_000) == 400)
    #expect(itime(.wall(-7), observedTime: 400, now: 1_000) == 400)
    #expect(itime(.wall(.min), observedTime: 400, now: 1_000) == 400)
    #expect(itime(.age(.max), observedTime: 400, now: 1_000) == 400)
}

@Test func `an act is never in the future`() {
    #expect(itime(.wall(5_000), observedTime: 400, now: 1_000) == 1_000)
    #expect(itime(.wall(.max), observedTime: 400, now: 1_000) == 1_000)
    #expect(itime(.age(-5_000), observedTime: 400, now: 1_000) == 1_000)
    #expect(itime(.age(.min), observedTime: 400, now: 1_000) == 1_000)
}

@Test func `an observed time after now, from a hub whose clock went back, is bounded too`() {
    #expect(itime(.age(0), observedTime: 9_000, now: 1_000) == 1_000)
    #expect(itime(.wall(0), observedTime: .max, now: 1_000) == 1_000)
}

@Test func `a broken clock misplaces an act only inside its own offline window`() {
    forEachSeed(0..<2_000) { random, seed in
        let now = Milliseconds.random(in: 0...1_000_000, using: &random)
        let observedTime = Milliseconds.random(in: 0...1_000_000, using: &random)
        let any = Milliseconds(bitPattern: random.next() >> UInt64(random.below(64)))
        let result = itime(random.chance(50) ? .age(any) : .wall(any), observedTime: observedTime, now: now)
        #expect(result >= min(observedTime, now) && result <= now, "seed \(seed)")
    }
}
