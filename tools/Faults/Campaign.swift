internal import CPealFaultVFS

/// One scenario under one fault, at each place where it can strike.
package struct Campaign {
    /// What came of it.
    package struct Report: Sendable {
        package var scenario: String
        package var fault: String
        /// How many places were tried.
        package var tried: UInt64 = 0
        /// At how many of them it struck.
        package var struck: UInt64 = 0
        /// How often a call threw; elsewhere SQLite had put up with it.
        package var threw: UInt64 = 0
        /// What did not hold.
        package var problems: [String] = []
        /// What the calls threw.
        package var thrown: [String] = []
    }

    let scenario: Scenario
    fileprivate let base: String
    /// What a file holds that is opened after so many calls.
    fileprivate let states: [String]

    /// Runs the scenario without a fault, and remembers each state.
    package init(_ scenario: Scenario) throws {
        self.scenario = scenario
        base = try Folder.make()
        try scenario.prepare(base)
        let folder = try Folder.copy(base)
        defer { Folder.remove(folder) }
        let subject = try scenario.open(folder, nil)
        var states = [try Self.state(scenario, of: folder)]
        for index in scenario.steps.indices {
            try Self.run(scenario, index, subject)
            states.append(try Self.state(scenario, of: folder))
        }
        self.states = states
        // A state that is one of two could hide that a call did nothing.
        for (index, state) in states.enumerated().dropFirst() where state == states[index - 1] {
            throw Misconceived("\(scenario.name): '\(scenario.steps[index - 1].name)' changes nothing")
        }
    }

    /// Removes its files.
    package func end() { Folder.remove(base) }

    /// At how many places a fault can strike: the operations, or allocations, of a run without one.
    package func places(_ fault: Fault) throws -> UInt64 {
        let run = try Run(self, fault, at: .max)
        guard run.fired == 0, run.problems.isEmpty else {
            throw Misconceived("\(scenario.name) without a fault: \(run.problems.first ?? "a fault struck")")
        }
        return run.seen
    }

    /// Lets the fault strike at some of its places, each in a run of its own.
    package func run(_ fault: Fault, at points: some Sequence<UInt64>) throws -> Report {
        var report = Report(scenario: scenario.name, fault: fault.name)
        for point in points {
            let run = try Run(self, fault, at: point)
            report.tried += 1
            report.struck += run.fired > 0 ? 1 : 0
            report.threw += run.hasThrown ? 1 : 0
            report.thrown += run.thrown
            report.problems += run.problems.map { "\(scenario.name), \(fault.name) at \(point): \($0)" }
        }
        return report
    }

    /// Some of all places of some faults, by a seed.
    package func sample(_ faults: [Fault], count: Int, seed: UInt64) throws -> [Report] {
        var random = Seeded(seed)
        var reports: [Report] = []
        // One run without a fault counts every kind of operation.
        let disk = try Run(self, faults[0], at: .max).disk
        let known = faults.map { fault in disk?.count(fault.operations) ?? 0 }
        let all = known.reduce(0, +)
        for _ in 0..<count {
            var point = UInt64.random(in: 0..<all, using: &random)
            for (fault, places) in zip(faults, known) {
                if point < places {
                    reports.append(try run(fault, at: [point + 1]))
                    break
                }
                point -= places
            }
        }
        return reports
    }

    static func run(_ scenario: Scenario, _ index: Int, _ subject: any Subject) throws {
        subject.seed(index)
        try scenario.steps[index].run(subject)
    }

    /// What a copy of a folder's file shows when it is opened: all rows. Throws where it is not sound.
    static func state(_ scenario: Scenario, of folder: String) throws -> String {
        let copy = try Folder.copy(folder)
        defer { Folder.remove(copy) }
        do {
            let subject = try scenario.open(copy, nil)
            let problems = try subject.problems()
            guard problems.isEmpty else { throw Misconceived(problems.joined(separator: "; ")) }
        }
        return try Folder.rows(copy + "/file")
    }
}

/// A scenario that cannot be what it should be, or a file that is not sound.
struct Misconceived: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// One run with a fault at one place.
private struct Run {
    let campaign: Campaign
    let fault: Fault
    let folder: String
    var fired: UInt64 = 0
    /// Operations, or allocations, that the fault could have struck.
    var seen: UInt64 = 0
    var hasThrown = false
    var problems: [String] = []
    var thrown: [String] = []

    private(set) var disk: Disk?
    private var subject: (any Subject)?
    /// How many calls have returned; -1: not even the opening.
    private var done = -1

    init(_ campaign: Campaign, _ fault: Fault, at point: UInt64) throws {
        self.campaign = campaign
        self.fault = fault
        folder = try Folder.copy(campaign.base)
        defer { Folder.remove(folder) }
        disk = fault.effect == .memory ? nil : Disk()
        if let disk { disk.arm(fault, at: point) } else { pfv_memory_arm(point, fault.isSticky ? 1 : 0) }
        let failed = proceed()
        if failed, fault.effect == .cut {
            try endCut()
        } else {
            if failed { try recover() }
            try endWhole()
        }
    }

    private var scenario: Scenario { campaign.scenario }

    private var hits: UInt64 { disk?.fired ?? pfv_memory_fired() }

    private func disarm() { if let disk { disk.disarm() } else { pfv_memory_arm(0, 0) } }

    /// Makes the calls that are left; true where one throws.
    private mutating func proceed() -> Bool {
        do {
            if done < 0 {
                subject = try scenario.open(folder, disk?.vfs)
                done = 0
            }
            while done < scenario.steps.count, let subject {
                try Campaign.run(scenario, done, subject)
                done += 1
            }
            return false
        } catch {
            note(error)
            return true
        }
    }

    private mutating func note(_ error: any Error) {
        hasThrown = true
        thrown.append("'\(place)' throws \(error)")
        let objection = scenario.objection(error, fault, done < 0 ? folder : nil)
        if let objection { problems.append("'\(place)' throws \(error): \(objection)") }
    }

    private var place: String { done < 0 ? "open" : scenario.steps[done].name }

    // MARK: After an error that is none of a power cut

    /// A process that dies now has lost nothing that was acknowledged; one that lives goes on, on the same handle.
    private mutating func recover() throws {
        fired = hits
        // Only the disk's part of the fault is in the copy.
        pause()
        let copy = try Folder.copy(folder)
        defer { Folder.remove(copy) }
        check(copy, from: max(done, 0), "killed at '\(place)'")
        resume()
        if fault.isSticky, proceed(), done >= 0, proceed() { fired = hits }
        disarm()
        guard done < 0 || subject != nil else { return }
        if proceed() { problems.append("'\(place)' does not work again on the same handle") }
    }

    private func pause() { if disk == nil { pfv_memory_arm(0, 0) } }
    private func resume() { if disk == nil, fault.isSticky { pfv_memory_arm(1, 1) } }

    /// Closes, by the power cut where the fault asks for one, and looks at what is there.
    private mutating func endWhole() throws {
        let isComplete = done == scenario.steps.count
        if fault.cutsAtEnd { disk?.cut(.all, seed: fault.seed) }
        subject = nil
        fired = max(fired, hits)
        seen = disk?.seen ?? pfv_memory_seen()
        disarm()
        let isCut = disk?.isCut ?? false
        if let disk, isCut {
            guard !disk.isInUse else { return problems.append("a file stays open") }
            disk.restore()
        }
        guard isComplete else { return }
        check(folder, from: isCut ? durable(done) : done, "in the end")
    }

    // MARK: After a power cut

    private mutating func endCut() throws {
        fired = hits
        let reached = done
        // Nothing works any more, and nothing traps.
        if let subject {
            for index in max(done, 0)..<scenario.steps.count {
                do {
                    try Campaign.run(scenario, index, subject)
                    problems.append("'\(scenario.steps[index].name)' returned although the power is cut")
                } catch {
                    note(error)
                }
            }
        }
        subject = nil
        guard let disk, !disk.isInUse else { return problems.append("a file stays open") }
        disk.restore()
        check(folder, from: durable(max(reached, 0)), to: reached, "after the cut at '\(place)'")
    }

    /// How many of the calls that returned a power cut must leave.
    private func durable(_ done: Int) -> Int {
        var count = done
        while count > 0, !scenario.steps[count - 1].isDurable { count -= 1 }
        return count
    }

    // MARK: What is there

    /// The file holds the state after one of the calls from `low` to the one that was under way, and from there all goes on.
    private mutating func check(_ folder: String, from low: Int, to high: Int? = nil, _ when: String) {
        let underWay = min((high ?? done) + 1, scenario.steps.count)
        do {
            let state = try Campaign.state(scenario, of: folder)
            let found = (low...underWay).last { campaign.states[$0] == state }
            let isWhole = underWay == 0 || scenario.steps[underWay - 1].isWhole
            guard let next = found ?? (isWhole ? nil : underWay - 1) else {
                let known = campaign.states.firstIndex(of: state).map { "the state after \($0) calls" }
                problems.append(
                    "\(when): after \(done) calls there is \(known ?? "a state in between"), not one of \(low)...\(underWay); "
                        + Folder.difference(state, campaign.states[low]))
                return
            }
            var subject: (any Subject)? = try scenario.open(folder, nil)
            for index in next..<scenario.steps.count {
                if let subject { try Campaign.run(scenario, index, subject) }
            }
            subject = nil
            let end = try Campaign.state(scenario, of: folder)
            if end != campaign.states[scenario.steps.count] {
                problems.append(
                    "\(when): going on leads elsewhere; "
                        + Folder.difference(end, campaign.states[scenario.steps.count]))
            }
        } catch {
            problems.append("\(when): \(error)")
        }
    }
}
