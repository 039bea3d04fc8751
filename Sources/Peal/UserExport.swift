internal import PealReplica
internal import PealSQLite

/// The lines of ``User/export()``: UTF-8 without line ends. Each iteration is one of its own, of the state in which it begins.
public struct UserExport: AsyncSequence, Sendable {
    /// One line.
    public typealias Element = [UInt8]
    /// ``PealError``: `file`, `disconnected`, `cancelled`.
    public typealias Failure = PealError

    private let core: UserCore

    init(_ core: UserCore) { self.core = core }

    /// Begins an iteration; the file is opened with the first line.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(core) }

    /// Reads ahead by a page.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let core: UserCore
        private var exporter: Exporter?
        private var lines: ArraySlice<[UInt8]> = []

        init(_ core: UserCore) { self.core = core }

        /// The next line; nil after the last.
        ///
        /// - Throws: ``PealError``: `file`, `disconnected`, `cancelled`.
        public mutating func next() async throws(PealError) -> [UInt8]? {
            if Task.isCancelled { throw UserCore.cancelled }
            if let line = lines.popFirst() { return line }
            let exporter: Exporter
            if let begun = self.exporter {
                exporter = begun
            } else {
                exporter = Exporter(path: try await core.call { (inbox) in inbox.configuration.path })
                self.exporter = exporter
            }
            lines = try await exporter.next()[...]
            return lines.popFirst()
        }
    }
}

/// A read-only connection on a thread of its own.
private actor Exporter {
    private nonisolated let executor = ConnectionExecutor(name: "peal-export")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private let path: String
    private var export: ReplicaExport?

    init(path: String) { self.path = path }

    func next() throws(PealError) -> [[UInt8]] {
        do throws(ReplicaError) {
            if let export { return try export.next() }
            let begun = try ReplicaExport(path: path)
            export = begun
            return try begun.next()
        } catch {
            throw PealError(error)
        }
    }
}
