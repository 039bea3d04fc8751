/// A file and the calls that are made on it, one after the other; the same ones, with the same ids and times, in each run.
package struct Scenario: Sendable {
    /// A word for reports.
    package var name: String
    /// Makes the files that are there before the first call, in a folder.
    var prepare: @Sendable (_ folder: String) throws -> Void
    /// Opens the file of a folder through a VFS; nil for SQLite's own.
    var open: @Sendable (_ folder: String, _ vfs: String?) throws -> any Subject
    /// Whether an error says what happened: nil where it does, else what is wrong with it. The folder is that of a file that
    /// could not be opened; nil of any other call.
    var objection: @Sendable (_ error: any Error, _ fault: Fault, _ opening: String?) -> String?
    /// The calls.
    var steps: [Step]

    /// One call.
    struct Step: Sendable {
        /// A word for reports.
        var name: String
        /// Once it has returned, a power cut does not take it.
        var isDurable = true
        /// It is one transaction; else what is there after a fault need only be sound, and doing it again must lead on.
        var isWhole = true
        var run: @Sendable (any Subject) throws -> Void
    }
}

/// What is opened: a replica, or a hub's store.
protocol Subject: AnyObject {
    /// The source of ids begins anew, so that a call that is made again draws the same.
    func seed(_ step: Int)
    /// What is wrong with the file, by every check that the product has.
    func problems() throws -> [String]
}
