import PealModel
import Testing

private func marks(_ random: inout SplitMix64, count: Int) -> [Mark] {
    (0..<count).map { _ in Mark(upTo: Position(random.below(12)), version: Position(1 + random.below(12))) }
}

@Test func `a frontier answers as all of its marks would`() {
    forEachSeed(0..<500) { random, seed in
        let all = marks(&random, count: random.below(12))
        let frontier = Frontier(all)
        for position in 0...13 as ClosedRange<Position> {
            let brute = all.filter { $0.upTo >= position }.map(\.version).max() ?? 0
            #expect(frontier.newest(covering: position) == brute, "seed \(seed), position \(position), \(all)")
        }
    }
}

@Test func `a frontier does not depend on the order of its marks, nor on repeats`() {
    forEachSeed(0..<500) { random, seed in
        let all = marks(&random, count: random.below(12))
        let frontier = Frontier(all)
        #expect(Frontier(all.shuffled(using: &random)) == frontier, "seed \(seed)")
        #expect(Frontier(all + all.shuffled(using: &random)) == frontier, "seed \(seed)")
        #expect(Frontier(frontier.marks) == frontier, "seed \(seed)")
    }
}

@Test func `a frontier holds no mark that another dominates, by falling upTo and rising version`() {
    forEachSeed(0..<500) { random, seed in
        let kept = Frontier(marks(&random, count: 12)).marks
        for (wide, narrow) in zip(kept, kept.dropFirst()) {
            #expect(wide.upTo > narrow.upTo && wide.version < narrow.version, "seed \(seed), \(kept)")
        }
    }
}

@Test func `a wide old mark and a narrow new one are both kept`() {
    var frontier = Frontier()
    frontier.add(Mark(upTo: 10, version: 11))
    frontier.add(Mark(upTo: 4, version: 20))
    #expect(frontier.newest(covering: 4) == 20)
    #expect(frontier.newest(covering: 5) == 11)
    #expect(frontier.newest(covering: 11) == 0)
    frontier.add(Mark(upTo: 10, version: 21))
    #expect(frontier.marks == [Mark(upTo: 10, version: 21)])
}
