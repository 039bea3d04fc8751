extension Page {
    /// Reads the rows of a page in one pass; a row that is not plain (registers, facts, an escape) takes the long way by itself.
    ///
    /// - Parameter rows: an array that the codec has validated as a part of its frame.
    /// - Returns: nil where the bytes are not laid out as the hub does it, so that all of them take the long way.
    static func leanRows(_ rows: RawJSON) throws(JSONError) -> [SnapshotRow]? {
        var plain: [SnapshotRow?] = []
        var ranges: [Range<Int>] = []
        let isLean = rows.withUnsafeBufferPointer { buffer in
            var scanner = LeanScanner(buffer)
            guard scanner.take(UInt8(ascii: "[")) else { return false }
            if scanner.take(UInt8(ascii: "]")) { return scanner.index == buffer.count }
            repeat {
                let start = scanner.index
                var row = scanner
                if let found = SnapshotRow(&row, rows) {
                    plain.append(found)
                    ranges.append(start..<row.index)
                    scanner = row
                } else {
                    // White space is for the long way.
                    guard start < buffer.count, buffer[start] == UInt8(ascii: "{"), scanner.skip() else { return false }
                    plain.append(nil)
                    ranges.append(start..<scanner.index)
                }
            } while scanner.take(UInt8(ascii: ","))
            return scanner.take(UInt8(ascii: "]")) && scanner.index == buffer.count
        }
        guard isLean else { return nil }
        var found: [SnapshotRow] = []
        found.reserveCapacity(plain.count)
        for (row, range) in zip(plain, ranges) {
            if let row {
                found.append(row)
            } else {
                let base = rows.startIndex
                found.append(
                    try SnapshotRow(JSONObject(rows[(base + range.lowerBound)..<(base + range.upperBound)])))
            }
        }
        return found
    }
}

extension SnapshotRow {
    /// A row without registers and facts; nil for any other. `rows` is what the scanner walks over.
    fileprivate init?(_ scanner: inout LeanScanner, _ rows: RawJSON) {
        var halves: (UInt64, UInt64)?
        var number: Position?
        var time: Milliseconds?
        var publish = 0..<0
        var body: Range<Int>?
        var seen = false
        guard scanner.take(UInt8(ascii: "{")) else { return nil }
        repeat {
            guard let key = scanner.key() else { return nil }
            // Of two equal keys the first counts: the long way knows which.
            if halves == nil, scanner.equal(key, "id") {
                guard let value = scanner.plainString(), let id = scanner.uuid(value) else { return nil }
                halves = id
            } else if number == nil, scanner.equal(key, "number") {
                number = scanner.int()
                guard number != nil else { return nil }
            } else if publish.isEmpty, scanner.equal(key, "publish") {
                guard let value = scanner.plainString(), !value.isEmpty else { return nil }
                publish = value
            } else if time == nil, scanner.equal(key, "time") {
                time = scanner.int()
                guard time != nil else { return nil }
            } else if !seen, scanner.equal(key, "seen") {
                guard scanner.take("true") else { return nil }
                seen = true
            } else if body == nil, scanner.equal(key, "body") {
                let start = scanner.index
                guard scanner.skip() else { return nil }
                body = start..<scanner.index
            } else {
                return nil
            }
        } while scanner.take(UInt8(ascii: ","))
        guard scanner.take(UInt8(ascii: "}")), let halves, let number, let time, let body, !publish.isEmpty else {
            return nil
        }
        let base = rows.startIndex
        self.init(
            id: ItemID(high: halves.0, low: halves.1),
            publish: String(decoding: scanner.bytes[publish], as: UTF8.self), time: time,
            body: rows[(base + body.lowerBound)..<(base + body.upperBound)],
            state: ItemState(position: number, read: nil, archived: nil, seen: seen))
    }
}
