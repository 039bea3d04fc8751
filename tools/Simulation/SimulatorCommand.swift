import Foundation
import PealHub
import PealModel

/// `peal-sim`: runs schedules, and prints what a person needs to understand a failure.
public enum SimulatorCommand {
    struct Options {
        var seed: UInt64 = 1
        var schedules: UInt64 = 2_000
        var steps = 400
        var sqliteShare = 100
        var jobs = 1
        var bug: PlantedBug?
        var verbose = false
        var keepGoing = false
        var json = false
        var small: SmallScope.Bounds?
        var soak: Int?
        var pace = 1
    }

    /// Runs the command; returns the exit code.
    public static func run(_ arguments: [String]) -> Int32 {
        var options = Options()
        var rest = arguments[...]
        while let word = rest.popFirst() {
            switch word {
            case "--seed": options.seed = UInt64(rest.popFirst() ?? "") ?? 1
            case "--schedules": options.schedules = UInt64(rest.popFirst() ?? "") ?? 1
            case "--steps": options.steps = Int(rest.popFirst() ?? "") ?? 400
            case "--sqlite-share": options.sqliteShare = Int(rest.popFirst() ?? "") ?? 0
            case "--bug":
                guard let bug = PlantedBug(rawValue: rest.popFirst() ?? "") else {
                    print("known bugs: \(PlantedBug.allCases.map(\.rawValue).joined(separator: " "))")
                    return 2
                }
                options.bug = bug
            case "--verbose": options.verbose = true
            case "--keep-going": options.keepGoing = true
            case "--json": options.json = true
            case "--exhaustive":
                options.small = SmallScope.Bounds(
                    acts: Int(rest.popFirst() ?? "") ?? 2, cuts: Int(rest.popFirst() ?? "") ?? 1)
            case "--soak": options.soak = Int(rest.popFirst() ?? "") ?? 72
            case "--pace": options.pace = max(1, Int(rest.popFirst() ?? "") ?? 1)
            case "--kinds": options.small?.kinds = Int(rest.popFirst() ?? "") ?? 9
            default:
                print(help)
                return word == "--help" ? 0 : 2
            }
        }
        if let bug = options.bug {
            #if PlantedBugs
                Planted.bug = bug
            #else
                print("'\(bug)' cannot be planted: build with `swift build --traits PlantedBugs,PostgreSQL`")
                return 2
            #endif
        }
        if let rounds = options.soak {
            return Soak(rounds: rounds, pace: options.pace, seed: options.seed, json: options.json).run()
        }
        return run(options)
    }

    static let help = """
        peal-sim [--seed N] [--schedules N] [--steps N] [--sqlite-share N] [--bug NAME] [--verbose] [--keep-going] [--json]

          --seed N          the first seed; each schedule takes the next (1)
          --schedules N     how many (2000)
          --steps N         steps of each (400)
          --sqlite-share N  one in N runs on the real SQLite stores; 0 for none (100)
          --bug NAME        plant a fault (a build with the trait PlantedBugs)
          --verbose         print what happens; for one schedule
          --keep-going      count failures, do not stop at the first
          --soak ROUNDS     no schedules: so many rounds of traffic without faults; files must stay as large (72)
          --pace HOURS      virtual hours of such a round (1)
          --exhaustive A C  no schedules: every state of two devices, one item, up to A acts and up to C cuts
          --kinds N         with the first N kinds of acts only (9)
        """

    private static func explore(_ bounds: SmallScope.Bounds) -> Int32 {
        let start = ContinuousClock.now
        do throws(HubStoreError) {
            let outcome = try SmallScope(bounds).explore()
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            print(
                "\(bounds.acts) acts of \(bounds.kinds) kinds, \(bounds.cuts) cuts: \(outcome.states) states, "
                    + "\(outcome.transitions) transitions, \(outcome.ends) ends"
                    + String(format: "; %.1f s, %.0f states/s", seconds, Double(outcome.states) / seconds))
            if let failure = outcome.failure { print(failure) }
            return outcome.failure == nil ? 0 : 1
        } catch {
            print("the hub does not start: \(error)")
            return 1
        }
    }

    private static func run(_ options: Options) -> Int32 {
        if let bounds = options.small { return explore(bounds) }
        let start = ContinuousClock.now
        var failures: UInt64 = 0
        var first: UInt64?
        var told = ContinuousClock.now
        for index in 0..<options.schedules {
            let seed = options.seed + index
            let schedule = Schedule(seed: seed, steps: options.steps, sqliteShare: options.sqliteShare)
            let world = World(schedule, traced: options.verbose)
            if let violation = world.run() {
                failures += 1
                first = first ?? seed
                if options.verbose { world.trace?.forEach { print($0) } }
                if !options.keepGoing {
                    report(violation, schedule, options)
                    return 1
                }
                if failures <= 20 { print("seed \(seed): \(violation)") }
            } else if options.verbose {
                world.trace?.forEach { print($0) }
            }
            if ContinuousClock.now - told > .seconds(5) {
                told = .now
                print("\(index + 1) of \(options.schedules) schedules, \(failures) failures")
            }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let rate = Double(options.schedules) / seconds
        print(
            "\(options.schedules) schedules of \(options.steps) steps from seed \(options.seed): \(failures) failures"
                + (first.map { ", the first at seed \($0)" } ?? "")
                + String(format: "; %.1f s, %.0f schedules/s", seconds, rate))
        return failures == 0 ? 0 : 1
    }

    private static func report(_ violation: World.Violation, _ schedule: Schedule, _ options: Options) {
        print("seed \(schedule.seed): \(violation)\(violation.step.map { " (at step \($0))" } ?? "")")
        print(
            "reproduce: peal-sim --seed \(schedule.seed) --schedules 1 --steps \(options.steps) --sqlite-share \(options.sqliteShare) --verbose"
        )
        var shrinker = Shrinker(schedule: schedule)
        let small = shrinker.shrunk()
        print("the same in \(small.steps.count) steps, \(small.shape):")
        let world = World(small, traced: true)
        let again = world.run()
        world.trace?.forEach { print("  \($0)") }
        print("  => \(again?.description ?? "it does not fail any more")")
    }
}
