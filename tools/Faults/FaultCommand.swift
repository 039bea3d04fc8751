import Foundation

/// `peal-faults`: every fault at every place of every scenario.
package enum FaultCommand {
    package static let usage = """
        usage: peal-faults [--filter TEXT] [--fault TEXT] [--memory] [--stride N] [--place N] [--seed N]

        Puts each fault at each place of each scenario over a replica's and a hub's file (docs/faults.md).
          --filter TEXT   scenarios whose name contains it
          --fault TEXT    faults whose name contains it
          --memory        fails allocations of SQLite, and no file
          --stride N      every N-th place only
          --place N       this place only; says what the calls throw there
          --seed N        of what is lost in a power cut
        """

    /// Runs it; the exit code.
    package static func run(_ arguments: [String]) -> Int32 {
        var options: [String: String] = [:]
        var rest = arguments[...]
        while let word = rest.popFirst() {
            switch word {
            case "--memory": options[word] = ""
            case "--filter", "--fault", "--stride", "--place", "--seed":
                guard let value = rest.popFirst() else { return refuse() }
                options[word] = value
            default: return refuse()
            }
        }
        guard let stride = UInt64(options["--stride"] ?? "1"), let seed = UInt64(options["--seed"] ?? "1"), stride > 0,
            let place = UInt64(options["--place"] ?? "1"), place > 0
        else { return refuse() }
        do {
            return try run(options, stride: stride, place: place, seed: seed)
        } catch {
            print("peal-faults: \(error)")
            return 1
        }
    }

    private static func refuse() -> Int32 {
        print(usage)
        return 2
    }

    private static func run(
        _ options: [String: String], stride: UInt64, place: UInt64, seed: UInt64
    ) throws -> Int32 {
        if options["--memory"] != nil, !Fault.installMemory() {
            print("peal-faults: SQLite takes no allocator")
            return 1
        }
        let faults = (options["--memory"] != nil ? Fault.memory : Fault.disk(seed: seed))
            .filter { fault in options["--fault"].map { fault.name.contains($0) } ?? true }
        let scenarios = try (Scenario.replica() + Scenario.hub())
            .filter { scenario in options["--filter"].map { scenario.name.contains($0) } ?? true }
        var (points, tried, threw, failures) = (0 as UInt64, 0 as UInt64, 0 as UInt64, 0)
        let start = Date()
        for scenario in scenarios {
            let campaign = try Campaign(scenario)
            defer { campaign.end() }
            for fault in faults {
                if options["--place"] != nil {
                    let report = try campaign.run(fault, at: [place])
                    print("\(report.scenario), \(fault.name) at \(place): struck \(report.struck)")
                    for line in report.thrown + report.problems { print("  \(line)") }
                    failures += report.problems.count
                    continue
                }
                let places = try campaign.places(fault)
                // One more than there are, which must not strike: these are all.
                let report = try campaign.run(fault, at: Swift.stride(from: 1, through: places, by: Int(stride)))
                let isWhole = try campaign.run(fault, at: [places + 1]).struck == 0
                print(
                    "\(report.scenario), \(fault.name): \(places) places, \(report.tried) tried, \(report.struck) struck, "
                        + "\(report.threw) threw, \(report.problems.count) problems\(isWhole ? "" : ", MORE PLACES")")
                for problem in report.problems.prefix(5) { print("  \(problem)") }
                // A line of a long run is to be seen when it is there.
                fflush(nil)
                points += places
                tried += report.tried
                threw += report.threw
                failures += report.problems.count + (isWhole ? 0 : 1) + Int(report.tried - report.struck)
            }
        }
        let seconds = Int(Date().timeIntervalSince(start))
        print("in all: \(points) places, \(tried) tried, \(threw) threw, \(failures) problems, \(seconds) s")
        return failures == 0 ? 0 : 1
    }
}
