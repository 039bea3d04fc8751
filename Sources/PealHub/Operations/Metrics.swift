import PealModel
import Synchronization

/// A number that any thread may raise. It begins anew with each start of the hub, as Prometheus expects of a counter.
final class Counter: Sendable {
    private let value = Atomic<UInt64>(0)

    /// Raises it; never blocks.
    func add(_ amount: Int = 1) {
        precondition(amount >= 0, "a counter only rises")
        value.add(UInt64(amount), ordering: .relaxed)
    }

    /// What it stands at.
    var count: UInt64 { value.load(ordering: .relaxed) }
}

/// What the hub counts of itself, for `GET /metrics`: numbers only, never a name of anybody. Any thread.
final class Metrics: Sendable {
    /// Who a request was for.
    enum Family: String, CaseIterable {
        case inbox, interests, native
        /// `/healthz`, `/readyz`, `/metrics`, `/config`.
        case operations

        /// The family of a target, by its first segment.
        init(target: String) {
            switch HTTPSurface.of(target: target) {
            case .inbox: self = .inbox
            case .interests: self = .interests
            case .native:
                let path = target.utf8.drop { $0 == UInt8(ascii: "/") }
                self = path.starts(with: "v1".utf8) ? .native : .operations
            }
        }
    }

    /// The words of outcomes that have a counter of their own; any other one is `other`.
    static let outcomes: [Outcome.Code] = [
        .applied, .noop, .superseded, .gone, .duplicate, .denied, .invalid, .tooLarge, .unknownOp, .poison, .void,
    ]
    private static let statusClasses = 2...5

    private let requests = (0..<Family.allCases.count * Metrics.statusClasses.count).map { _ in Counter() }
    private let settled = (0...Metrics.outcomes.count).map { _ in Counter() }
    /// Publishes that were carried out; a repeated one is not counted again.
    let publishes = Counter()
    /// Entries that were appended to any log.
    let entries = Counter()
    /// Group commits that became durable, and those that were lost.
    let commits = Counter()
    let lostCommits = Counter()
    /// Requests and sockets that were turned away because there were too many.
    let limited = Counter()
    /// Sessions that were let in.
    let sessions = Counter()
    /// Snapshots that a replica asked for because it differs from the log (docs/sync.md section 8).
    let repairs = Counter()
    /// Hellos that had seen more than the hub holds, and hellos of restored or copied files (docs/sync.md section 7).
    let ahead = Counter()
    let forked = Counter()

    /// A request was answered.
    func answered(_ family: Family, status: Int) {
        guard Self.statusClasses.contains(status / 100), let row = Family.allCases.firstIndex(of: family) else {
            return
        }
        requests[row * Self.statusClasses.count + status / 100 - Self.statusClasses.lowerBound].add()
    }

    /// Mutations of outboxes were settled.
    func settled(_ outcomes: [Outcome.Code]) {
        for outcome in outcomes { settled[Self.outcomes.firstIndex(of: outcome) ?? Self.outcomes.count].add() }
    }
}

/// What is so at one moment, beside what was counted.
struct Gauges: Sendable {
    /// Open sockets of devices, and sessions that were let in.
    var sockets = 0
    var sessions = 0
    /// Entries that live sessions have not acknowledged: of all, and of the one that is furthest behind.
    var lag: Int64 = 0
    var greatestLag: Int64 = 0
    /// Requests that wait for the store's one writer.
    var writerQueue = 0
    /// Wide publishes that are not through.
    var fanoutJobs = 0
    /// Bytes of the store's file and of its write-ahead log; nil where the store has none.
    var databaseBytes: Int64?
    var walBytes: Int64?
}

extension Metrics {
    /// The text that Prometheus reads (version 0.0.4).
    func text(_ gauges: Gauges) -> String {
        var page = MetricsPage()
        page.family("peal_build_info", "gauge", "The version that runs.")
        page.sample("peal_build_info", ["version": pealVersion], 1)
        page.family(
            "peal_http_requests_total", "counter", "Answered HTTP requests, by family of routes and class of status.")
        var index = 0
        for family in Family.allCases {
            for status in Self.statusClasses {
                page.sample(
                    "peal_http_requests_total", ["family": family.rawValue, "status": "\(status)xx"],
                    requests[index].count)
                index += 1
            }
        }
        page.family(
            "peal_outbox_outcomes_total", "counter", "Mutations of devices that were settled, by outcome.")
        for (counter, word) in zip(settled, Self.outcomes.map(\.rawValue) + ["other"]) {
            page.sample("peal_outbox_outcomes_total", ["outcome": word], counter.count)
        }
        counters(into: &page)
        self.gauges(gauges, into: &page)
        return page.text
    }

    private func counters(into page: inout MetricsPage) {
        page.counter("peal_publishes_total", "Publishes that were carried out.", publishes)
        page.counter("peal_entries_appended_total", "Entries that were appended to logs.", entries)
        page.counter("peal_commits_total", "Group commits that became durable.", commits)
        page.counter("peal_commits_lost_total", "Group commits that failed as a whole.", lostCommits)
        page.counter("peal_limited_total", "Requests and sockets over a rate or a number.", limited)
        page.counter("peal_sessions_total", "Sessions that were let in.", sessions)
        page.counter("peal_repairs_total", "Snapshots for replicas that differed from the log.", repairs)
        page.counter("peal_ahead_total", "Hellos that had seen more than this hub holds.", ahead)
        page.counter("peal_forked_total", "Hellos of files that were restored or copied.", forked)
    }

    private func gauges(_ gauges: Gauges, into page: inout MetricsPage) {
        page.gauge("peal_sockets", "Open sockets of devices.", Int64(gauges.sockets))
        page.gauge("peal_sessions", "Live sessions.", Int64(gauges.sessions))
        page.gauge("peal_lag_entries", "Entries that live sessions have not acknowledged.", gauges.lag)
        page.gauge("peal_lag_entries_max", "The same, of the session furthest behind.", gauges.greatestLag)
        page.gauge("peal_writer_queue", "Requests that wait for the store's writer.", Int64(gauges.writerQueue))
        page.gauge("peal_fanout_jobs", "Wide publishes that are not through.", Int64(gauges.fanoutJobs))
        if let bytes = gauges.databaseBytes { page.gauge("peal_database_bytes", "Size of the store's file.", bytes) }
        if let bytes = gauges.walBytes { page.gauge("peal_database_wal_bytes", "Size of its write-ahead log.", bytes) }
    }
}

/// Lines of the exposition format.
private struct MetricsPage {
    private(set) var text = ""

    mutating func family(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    /// Label values are words of ours, so none needs an escape.
    mutating func sample(_ name: String, _ labels: KeyValuePairs<String, String>, _ value: some BinaryInteger) {
        let list = labels.map { "\($0.key)=\"\($0.value)\"" }.joined(separator: ",")
        text += "\(name)\(list.isEmpty ? "" : "{\(list)}") \(value)\n"
    }

    mutating func counter(_ name: String, _ help: String, _ counter: Counter) {
        family(name, "counter", help)
        sample(name, [:], counter.count)
    }

    mutating func gauge(_ name: String, _ help: String, _ value: Int64) {
        family(name, "gauge", help)
        sample(name, [:], value)
    }
}
