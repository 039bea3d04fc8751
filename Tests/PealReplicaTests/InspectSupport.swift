import Glibc
import PealModel
import PealSQLite
import Testing

@testable import PealReplica

/// A file with something in every table, more than a page in most, and the bytes of it.
struct Specimens {
    let folder = Folder()
    let clock = TestClock()
    var hub = TestHub()
    /// Open, so that its log is there.
    let replica: Replica

    /// - Parameter items: how many; a file of 200 has some sixty pages.
    init(items: Int = 200) throws {
        hub.setCatalogue(required: true)
        for number in 0..<items {
            hub.publish(
                "a title \(number)", category: number % 2 == 0 ? "billing" : nil, topic: "order:\(number)",
                content: "a text of some length, so that there are pages \(number)")
        }
        for number in stride(from: 0, to: items, by: 3) {
            hub.other(.read(items: [hub.items[number]], on: true, passive: false))
        }
        hub.other(.mark(.archive, upTo: 5))
        hub.other(.preference(category: "a", channel: "push", enabled: false))
        replica = try folder.open(clock: clock)
        try replica.connect(hub)
        try replica.pull(hub)
        for number in stride(from: 1, to: items, by: 4) { try replica.enqueue(.seen(items: [hub.items[number]])) }
        try replica.enqueue(.track(item: hub.items[0], event: "answered", data: Array(#"{"a":"a text"}"#.utf8)[...]))
        try replica.enqueue(.preference(category: "a", channel: "email", enabled: false))
        try replica.push(to: &hub)
        try replica.pull(hub)
        hub.append(bytes: Array(#"{"kind":"new","time":1,"text":"a text"}"#.utf8))
        try replica.pull(hub)
        try replica.sessionEnded(code: .draining, reason: "the hub stops")
        try replica.connect(hub)
        for number in stride(from: 2, to: items, by: 4) {
            try replica.enqueue(.read(items: [hub.items[number]], on: true, passive: false))
        }
        _ = try replica.nextPush()
    }

    /// A copy without a log and without free pages.
    func still(_ name: String = "still") throws -> String {
        folder.copy("replica", to: name)
        let connection = try Connection(path: folder.file(name))
        try connection.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
        return folder.file(name)
    }

    /// A file of a folder and all that belongs to it, by name.
    func files() throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        let directory = try #require(opendir(folder.path))
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { found[name] = Bytes.read(folder.file(name)) }
        }
        return found
    }
}

enum Bytes {
    static func read(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "rb") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }

    static func write(_ path: String, _ bytes: some Collection<UInt8>) {
        let file = fopen(path, "wb")!
        let bytes = Array(bytes)
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }
}

/// Everything that an inspector can be asked of a file.
enum EveryView {
    /// Asks all of it.
    ///
    /// - Returns: what was found to be wrong, by whichever view.
    @discardableResult
    static func ask(_ path: String, _ clock: TestClock) -> [String] {
        let survey = FileSurvey(path)
        var problems = survey.problems
        do throws(ReplicaError) {
            let reader = try ReplicaReader(inspecting: path, clock: clock.clock)
            problems += reader.problems
            problems += pages { reader.inspectItems(after: $0, limit: 50) }
            for place in [InspectedAct.Place.outbox, .dead, .journal] {
                problems += pages { reader.inspectActs(place, after: $0, limit: 50) }
            }
            problems += pages { reader.inspectEntries(after: $0, limit: 50) }
            func ask(_ body: () throws(ReplicaError) -> Void) {
                do throws(ReplicaError) { try body() } catch { problems.append(error.message) }
            }
            ask { () throws(ReplicaError) in _ = try reader.inspectMarks() }
            ask { () throws(ReplicaError) in _ = try reader.inspectSessions() }
            ask { () throws(ReplicaError) in _ = try reader.inspect(integrity: true).problems }
            ask { () throws(ReplicaError) in _ = try reader.explain(number: 9) }
            ask { () throws(ReplicaError) in
                problems += try reader.verify().checks.filter(\.isFailure).map(\.name)
            }
        } catch {
            problems.append(error.message)
        }
        return problems
    }

    private static func pages<Row>(_ page: (Int64?) -> InspectedPage<Row>) -> [String] {
        var after: Int64?
        var count = 0
        repeat {
            let found = page(after)
            if let failure = found.failure { return [failure.message] }
            after = found.next
            count += 1
        } while after != nil && count < 100
        return []
    }
}
