public import PealModel
internal import Synchronization

/// The log of an inbox as it grows.
extension HubAPI {
    /// An event of ``log(of:after:lastEvent:)``.
    public struct LogEvent: Sendable, Equatable {
        /// Where to go on after it; nil for one that has no place.
        public let id: String?
        /// `entry`, or `gap`, which is the last one: the log was trimmed, or the inbox deleted.
        public let name: String
        /// Of an `entry` the entry, as docs/sync.md section 3 has it.
        public let data: JSON
    }

    /// The log of an inbox, first what is there, then what comes. For a project's back end. The request ends with the stream, and the stream with
    /// the hub's answer, a lost connection (`unreachable`), a silence of twice the hub's 15 seconds, or where the reader falls behind by 1,024
    /// events (`timeout`); in each case ``LogEvent/id`` is where to go on.
    ///
    /// - Parameters:
    ///   - inbox: the inbox's id; a device's is its own id.
    ///   - after: begins after this position; nil for what is to come.
    ///   - lastEvent: the id of the last event that was taken; wins over `after`.
    public func log(
        of inbox: String, after: Position? = nil, lastEvent: String? = nil
    ) -> AsyncThrowingStream<LogEvent, any Error> {
        let (stream, events) = AsyncThrowingStream.makeStream(
            of: LogEvent.self, bufferingPolicy: .bufferingOldest(1_024))
        var request = Request(query: [("inbox", inbox), ("after", after.map { String($0) })])
        request.headers["Last-Event-ID"] = lastEvent
        let reader = Mutex(EventReader())
        let asked = request
        let task = Task {
            do throws(PealError) {
                _ = try await call(.log, asked) { bytes in
                    for event in reader.withLock({ $0.read(bytes) }) {
                        guard case .dropped = events.yield(event) else { continue }
                        events.finish(
                            throwing: PealError(.timeout, "the reader fell behind the log by 1,024 events"))
                    }
                }
                events.finish()
            } catch {
                events.finish(throwing: error)
            }
        }
        events.onTermination = { _ in task.cancel() }
        return stream
    }
}

/// Server-sent events out of bytes, which may end anywhere.
struct EventReader {
    private var rest: [UInt8] = []
    private var id: String?
    private var name = "message"
    private var data: [String] = []

    mutating func read(_ bytes: [UInt8]) -> [HubAPI.LogEvent] {
        rest += bytes
        var events: [HubAPI.LogEvent] = []
        var start = rest.startIndex
        while let end = rest[start...].firstIndex(of: 0x0A) {
            let line = String(decoding: rest[start..<end], as: UTF8.self)
            start = end + 1
            if let event = take(line.hasSuffix("\r") ? String(line.dropLast()) : line) { events.append(event) }
        }
        rest.removeSubrange(..<start)
        return events
    }

    private mutating func take(_ line: String) -> HubAPI.LogEvent? {
        if line.isEmpty {
            defer { (id, name, data) = (nil, "message", []) }
            guard !data.isEmpty else { return nil }
            let json = try? JSON(Array(data.joined(separator: "\n").utf8)[...])
            return HubAPI.LogEvent(id: id, name: name, data: json ?? .null)
        }
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else { return nil }
        var value = line[line.index(after: colon)...]
        if value.hasPrefix(" ") { value = value.dropFirst() }
        switch line[..<colon] {
        case "id": id = String(value)
        case "event": name = String(value)
        case "data": data.append(String(value))
        default: break
        }
        return nil
    }
}
