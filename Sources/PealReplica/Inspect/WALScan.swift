#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// What a write-ahead log holds, by its own checksums: SQLite passes over everything from the first bad frame on and says nothing.
///
/// The format is SQLite's ("Write-Ahead Log" in its file format): a header of 32 bytes, then frames of 24 bytes and a page; sums run
/// on from frame to frame, and a frame of an earlier use of the file carries another salt.
struct WALScan: Equatable {
    /// Frames of this use of the log whose sums are right.
    var frames = 0
    /// Of these, up to the last commit.
    var committed = 0
    /// The header is none, or its sum is wrong.
    var isForeign = false
    /// The first frame that is not as it was written, counted from 1, with more of this use of the log after it.
    var damaged: Int?
    /// The file ends within a frame.
    var isCutOff = false

    /// Nil for a log that is not there, is empty, or cannot be read.
    init?(_ path: String) {
        guard let file = fopen(path, "rb") else { return nil }
        defer { fclose(file) }
        var header = [UInt8](repeating: 0, count: 32)
        guard fread(&header, 1, 32, file) == 32 else { return nil }
        let magic = FileHeader.number(header, at: 0)
        let isBig = magic == 0x377F_0683
        let pageSize = Int(FileHeader.number(header, at: 8))
        var sum: (UInt32, UInt32) = (0, 0)
        Self.add(header[0..<24], isBig, to: &sum)
        guard isBig || magic == 0x377F_0682, pageSize >= 512, pageSize <= 65_536, pageSize & (pageSize - 1) == 0,
            sum == (FileHeader.number(header, at: 24), FileHeader.number(header, at: 28))
        else {
            isForeign = true
            return
        }
        let salt = Array(header[16..<24])
        var frame = [UInt8](repeating: 0, count: 24 + pageSize)
        var index = 0
        while true {
            let count = fread(&frame, 1, frame.count, file)
            index += 1
            if count < frame.count {
                isCutOff = count > 0 && (count < 16 || Array(frame[8..<16]) == salt)
                return
            }
            let isOurs = Array(frame[8..<16]) == salt
            if let first = bad {
                if isOurs {
                    damaged = first
                    return
                }
                continue
            }
            Self.add(frame[0..<8], isBig, to: &sum)
            Self.add(frame[24...], isBig, to: &sum)
            guard isOurs, sum == (FileHeader.number(frame, at: 16), FileHeader.number(frame, at: 20)) else {
                bad = index
                continue
            }
            frames = index
            if FileHeader.number(frame, at: 4) != 0 { committed = index }
        }
    }

    private var bad: Int?

    private static func add(_ bytes: ArraySlice<UInt8>, _ isBig: Bool, to sum: inout (UInt32, UInt32)) {
        bytes.withUnsafeBytes { raw in
            for offset in stride(from: 0, to: raw.count, by: 8) {
                let first = raw.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                let second = raw.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                sum.0 &+= (isBig ? UInt32(bigEndian: first) : UInt32(littleEndian: first)) &+ sum.1
                sum.1 &+= (isBig ? UInt32(bigEndian: second) : UInt32(littleEndian: second)) &+ sum.0
            }
        }
    }
}
