import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Events for the viewer's thread, from any thread, and a descriptor on which that thread can wait for them.
final class ViewerMailbox: Sendable {
    private let events = Mutex<[ViewerEvent]>([])
    /// Readable while there are events.
    let reading: Int32
    private let writing: Int32

    /// - Throws: ``CommandError`` where there are no descriptors left.
    init() throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw CommandError(code: .failure, message: "No pipe could be made: too many files are open.")
        }
        (reading, writing) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
    }

    deinit {
        close(reading)
        close(writing)
    }

    func put(_ event: ViewerEvent) {
        let isFirst = events.withLock { events in
            events.append(event)
            return events.count == 1
        }
        var byte: UInt8 = 0
        // A full pipe is readable, too.
        if isFirst { _ = write(writing, &byte, 1) }
    }

    func take() -> [ViewerEvent] {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(reading, &bytes, bytes.count) == bytes.count {}
        return events.withLock { events in
            defer { events = [] }
            return events
        }
    }
}
