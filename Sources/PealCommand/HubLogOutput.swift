import Foundation
import PealHub

/// Where `peal hub` writes its log: standard error, a line a record. Any thread.
struct HubLogOutput: Sendable {
    /// What is less important is left out.
    let level: HubLogLevel
    private let format: HubLogRecord.Format

    /// What the options say.
    ///
    /// - Throws: ``CommandError`` for a word that is no level or no format.
    init(
        _ arguments: Arguments, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(CommandError) {
        let usual: HubLogLevel =
            arguments.has("quiet") ? .warning : arguments.has("verbose") ? .info : .notice
        let word = arguments.value("log-level") ?? usual.name
        guard let level = HubLogLevel(name: word) else {
            let known = HubLogLevel.allCases.map(\.name).joined(separator: ", ")
            throw .usage("--log-level takes one of \(known).")
        }
        self.level = level
        guard let name = arguments.value("log-format") else {
            format = Self.isJournal(environment["JOURNAL_STREAM"]) ? .journald : .text
            return
        }
        guard let format = HubLogRecord.Format(rawValue: name) else {
            let known = HubLogRecord.Format.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage("--log-format takes one of \(known).")
        }
        self.format = format
    }

    /// Writes a record, where it is important enough.
    func write(_ record: HubLogRecord) {
        guard record.level <= level else { return }
        Output.note(record.line(format, time: Int64(Date().timeIntervalSince1970 * 1_000)))
    }

    /// Whether standard error is the stream that the variable names (`DEVICE:INODE`): a shell that the service starts inherits
    /// the variable, but not the stream.
    static func isJournal(_ stream: String?) -> Bool {
        var status = stat()
        guard let stream, fstat(2, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }
}
