internal import PealSQLite

/// What a replica refused or could not do. Holds no body, token or bound value.
public struct ReplicaError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What went wrong; an open set.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The word for logs.
        public let rawValue: String
        /// A code of its word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The file is no SQLite database, or one of another application.
        public static let notAReplica = Code(rawValue: "notAReplica")
        /// The file belongs to another identity or project.
        public static let otherIdentity = Code(rawValue: "otherIdentity")
        /// The hub answered with another inbox than the one that this file is bound to.
        public static let otherInbox = Code(rawValue: "otherInbox")
        /// A newer library made the file: it opens read-only, and this would have written.
        public static let newerVersion = Code(rawValue: "newerVersion")
        /// The file, its folder or the connection does not take writes.
        public static let readOnly = Code(rawValue: "readOnly")
        /// The disk is full; nothing was changed.
        public static let full = Code(rawValue: "full")
        /// Another process kept the file locked for 5 s; nothing was changed.
        public static let busy = Code(rawValue: "busy")
        /// The file is damaged.
        public static let corrupt = Code(rawValue: "corrupt")
        /// The file cannot be opened or made.
        public static let cantOpen = Code(rawValue: "cantOpen")
        /// Reading or writing the disk failed.
        public static let ioError = Code(rawValue: "ioError")
        /// Memory ran out; nothing was changed.
        public static let noMemory = Code(rawValue: "noMemory")
        /// The caller asks for something that no mutation can be.
        public static let invalid = Code(rawValue: "invalid")
        /// The mutation is over a limit of the contract.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// Anything else that SQLite says.
        public static let database = Code(rawValue: "database")
    }

    /// What went wrong.
    public let code: Code
    /// A sentence for a log.
    public let message: String
    /// SQLite's extended result code, where it comes from there.
    public let sqliteCode: Int32?

    /// An error of its parts.
    public init(_ code: Code, _ message: String, sqliteCode: Int32? = nil) {
        self.code = code
        self.message = message
        self.sqliteCode = sqliteCode
    }

    /// The file is a whole one of another application, as a hub's is.
    package var isOfAnotherApplication: Bool { sqliteCode == SQLiteError.Code.otherApplication.rawValue }

    /// The code and the sentence.
    public var description: String { "\(code.rawValue): \(message)" }

    /// What SQLite says of a file that does not open: the file's name, and what somebody can do about it.
    init(_ error: SQLiteError, opening path: String, advises: Bool = true) {
        let words = ReplicaError(error)
        // Which of our statements was the first to fail says nothing to who opens a file, and neither does a code of ours.
        let code = error.code.rawValue > 0 ? " (SQLite \(error.code.rawValue))" : ""
        self.init(
            ReplicaError(words.code, error.message + code, sqliteCode: words.sqliteCode), opening: path,
            advises: advises)
    }

    /// The same of an error that what follows the opening threw.
    init(_ refused: ReplicaError, opening path: String, advises: Bool = true) {
        let advice: String? =
            switch refused.code {
            // The inspector says what comes next.
            case _ where !advises: nil
            case .cantOpen: "See whether its folder is there and may be written, and whether too many files are open."
            case .ioError: "Nothing was changed. Look at the disk and the system's log, then open it again."
            case .full: "Make room on the disk, then open it again."
            case .busy: "Another process is busy with it. Open it again when that one is done."
            case .readOnly: "Make the file and its folder writable."
            case .corrupt:
                "Look at it with `peal inspect verify`. Without it the hub sends all again, but acts that had not gone out are lost."
            case .noMemory: "Nothing was changed. Open it again."
            default: nil
            }
        let message =
            refused.message.contains(path) ? refused.message : "\(path) cannot be opened: \(refused.message)."
        self.init(
            refused.code, advice.map { "\(message) \($0)" } ?? message, sqliteCode: refused.sqliteCode)
    }

    init(_ error: SQLiteError) {
        let code: Code =
            switch error.code.primary {
            case .notADatabase, .otherApplication: .notAReplica
            case .newerVersion: .newerVersion
            case .readOnly: .readOnly
            case .full: .full
            case .busy: .busy
            case .corrupt: .corrupt
            case .cantOpen: .cantOpen
            case .ioError: error.code == .ioNoMemory ? .noMemory : .ioError
            case .noMemory: .noMemory
            default: .database
            }
        self.init(code, error.description, sqliteCode: error.code.rawValue)
    }
}
