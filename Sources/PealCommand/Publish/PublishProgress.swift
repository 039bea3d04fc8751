import PealModel

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The file of `--resume`: which lines of an input are published. Lines are only added to it, so that a process that is killed leaves what it
/// had written: `done N DIGEST` (every line up to N was published, or failed), `failed N`, `mended N`.
///
/// What was published after the last line of it is sent again and, because its key is the same, not published again.
struct PublishProgress {
    /// Every line up to this one is published, or in ``failed``.
    private(set) var done = 0
    /// Of the content of that line, to know the input again.
    private(set) var digest = ""
    private(set) var failed: Set<Int> = []

    private let path: String
    private let descriptor: Int32
    private var unwritten = ""

    /// Opens it, or makes it.
    ///
    /// - Parameter target: where it is published to, in one line.
    /// - Throws: ``CommandError``: it cannot be opened, is another's, or another process has it.
    init(path: String, target: String) throws(CommandError) {
        self.path = path
        descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let why = String(cString: strerror(errno))
            throw CommandError(code: .badFile, message: "\(Output.safe(path)) cannot be opened: \(why).")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw CommandError(code: .failure, message: "Another `peal publish` is at work with \(Output.safe(path)).")
        }
        let lines = try read()
        let head = "peal publish to \(target)"
        guard let first = lines.first else {
            unwritten = head + "\n"
            return
        }
        guard first.hasPrefix("peal publish to ") else {
            throw CommandError(code: .badFile, message: "\(Output.safe(path)) is no file of `peal publish --resume`.")
        }
        guard first == head else {
            throw CommandError(
                code: .usage,
                message: "\(Output.safe(path)) is of another hub or project: it says '\(Output.safe(first))'.",
                hint: "Each input and each project has a file of its own.")
        }
        for line in lines.dropFirst() { take(line) }
    }

    /// Whole lines.
    private func read() throws(CommandError) -> [String] {
        var text: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = piece.withUnsafeMutableBytes { readBytes(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 else {
                throw CommandError(code: .badFile, message: "\(Output.safe(path)) cannot be read.")
            }
            if count == 0 { break }
            text += piece[..<count]
        }
        // A line that a lost power cut off says nothing.
        guard let end = text.lastIndex(of: 0x0A) else {
            ftruncate(descriptor, 0)
            return []
        }
        if end + 1 < text.count { ftruncate(descriptor, off_t(end + 1)) }
        return String(decoding: text[...end], as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private mutating func take(_ line: String) {
        let words = line.split(separator: " ")
        guard words.count > 1, let number = Int(words[1]) else { return }
        switch words[0] {
        case "done" where words.count > 2: (done, digest) = (number, String(words[2]))
        case "failed": failed.insert(number)
        case "mended": failed.remove(number)
        default: break
        }
    }

    /// Whether a line was published by an earlier run.
    ///
    /// - Throws: ``CommandError`` where the input is not that of the earlier run.
    func isDone(_ number: Int, digest: String) throws(CommandError) -> Bool {
        guard number <= done else { return false }
        guard number < done || digest == self.digest else {
            throw CommandError(
                code: .usage,
                message: "\(Output.safe(path)) is of another input: its number \(done) is not what it was.",
                hint: "Each input has a file of its own; lines may only be added at its end.")
        }
        return !failed.contains(number)
    }

    /// Notes the end of a line; every one before it has been noted.
    mutating func note(_ number: Int, digest: String, isPublished: Bool) {
        if isPublished, failed.remove(number) != nil {
            unwritten += "mended \(number)\n"
        } else if !isPublished, failed.insert(number).inserted {
            unwritten += "failed \(number)\n"
        }
        if number > done {
            (done, self.digest) = (number, digest)
            isAhead = true
        }
    }

    private var isAhead = false

    /// Writes what was noted.
    ///
    /// - Throws: ``CommandError`` `failure`.
    mutating func write() throws(CommandError) {
        // What failed stands before what says that it is done.
        if isAhead { unwritten += "done \(done) \(digest)\n" }
        isAhead = false
        guard !unwritten.isEmpty else { return }
        var bytes = Array(unwritten.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { writeBytes(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 || errno == EINTR else {
                let why = String(cString: strerror(errno))
                throw CommandError(code: .failure, message: "\(Output.safe(path)) cannot be written: \(why).")
            }
            bytes = bytes.dropFirst(max(0, count))
        }
        unwritten = ""
    }
}

/// `write`, whose name a method has here.
private func writeBytes(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, buffer, count)
}
