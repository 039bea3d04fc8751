import PealModel
import PealReplica

extension FuzzTarget {
    /// The codec of the frames, both directions: what decodes is encoded to what decodes to the same value, and bytes that are
    /// written once are written so again. Entries of batches are folded, mutations of pushes are resolved.
    package static let frames = FuzzTarget(
        name: "frames", seeds: { GoldenFrames.all },
        dictionary: JSONWords.all + [
            "hello", "batch", "page", "push", "mutations", "entries", "effect", "results", "cursor",
        ],
        replays: 4_000, run: FrameFuzz.run)
}

private enum FrameFuzz {
    static func run(_ bytes: [UInt8]) -> String? {
        up(bytes) ?? down(bytes) ?? parts(bytes)
    }

    private static func up(_ bytes: [UInt8]) -> String? {
        guard let frame = try? UpFrame(bytes[...]) else { return nil }
        let mutations: [Mutation] =
            switch frame {
            case .push(let all): all
            case .suspect(let mutation): [mutation]
            default: []
            }
        if let problem = resolve(mutations) { return problem }
        // What could not be understood is never sent.
        guard !mutations.contains(where: { if case .malformed = $0.operation { true } else { false } }) else {
            return nil
        }
        let encoded = frame.bytes
        // Members with a default are written out, so a frame at the limit may pass it.
        guard encoded.count <= Limits.frameUp else { return nil }
        guard let again = try? UpFrame(encoded[...]) else { return "an up frame was encoded to what cannot be decoded" }
        guard again == frame else { return "an up frame changed by encoding" }
        return again.bytes == encoded ? nil : "an up frame is encoded in two ways"
    }

    private static func down(_ bytes: [UInt8]) -> String? {
        guard let frame = try? DownFrame(bytes[...]) else { return nil }
        let encoded = frame.bytes
        guard let again = try? DownFrame(encoded[...]) else {
            return "a down frame was encoded to what cannot be decoded"
        }
        guard again == frame else { return "a down frame changed by encoding" }
        guard again.bytes == encoded else { return "a down frame is encoded in two ways" }
        switch frame {
        case .batch(let batch): return fold(batch.entries)
        case .page(let page): return QuickWay.check(page, bytes)
        default: return nil
        }
    }

    private static func fold(_ entries: [RawJSON]) -> String? {
        var user = InboxState(device: false)
        var device = InboxState(device: true)
        for bytes in entries {
            if let problem = QuickWay.check(bytes) { return problem }
            guard let entry = try? Entry(bytes) else { continue }
            user.fold(entry)
            device.fold(entry)
            if let problem = round(entry) { return problem }
        }
        return nil
    }

    private static func round(_ entry: Entry) -> String? {
        guard case .act = entry.kind else { return nil }
        guard let again = try? Entry(entry.bytes[...]) else { return "an entry was encoded to what cannot be decoded" }
        return again == entry ? nil : "an entry changed by encoding"
    }

    private static func resolve(_ mutations: [Mutation]) -> String? {
        var state = InboxState(device: false)
        let now: Milliseconds = 1_700_000_000_000
        for mutation in mutations {
            let act = Resolver.resolve(mutation, by: .replica(ReplicaID(high: 1, low: 2)), in: state, now: now)
            guard act.itime <= now else { return "an act has an intent time after now" }
            state.fold(Entry(time: now, kind: .act(act)))
        }
        return nil
    }

    /// What is decoded by itself elsewhere.
    private static func parts(_ bytes: [UInt8]) -> String? {
        if let value = try? JSON(bytes[...]) {
            guard (try? JSON(value.bytes[...])) == value else { return "a JSON value changed by encoding" }
        }
        if (try? JSON(bytes[...])) != nil, let problem = QuickWay.check(bytes[...]) { return problem }
        if let entry = try? Entry(bytes[...]), let problem = round(entry) { return problem }
        guard let object = try? JSONObject(bytes[...]) else { return nil }
        _ = try? Outcome(object)
        _ = try? Mutation(object)
        _ = try? Catalogue.categories(object)
        _ = try? SnapshotRow(object)
        if let operation = try? PealModel.Operation(object), let problem = round(operation) { return problem }
        return nil
    }

    private static func round(_ operation: PealModel.Operation) -> String? {
        if case .malformed = operation { return nil }
        var writer = JSONWriter()
        operation.write(to: &writer)
        guard let object = try? JSONObject(writer.bytes[...]), let again = try? PealModel.Operation(object) else {
            return "an operation was encoded to what cannot be decoded"
        }
        return again == operation ? nil : "an operation changed by encoding"
    }
}

/// A replica reads most items in one pass of its own; what that gives must be what the codec gives.
enum QuickWay {
    static func check(_ page: Page, _ bytes: [UInt8]) -> String? {
        guard let object = try? JSONObject(bytes[...]), let rows = try? object.array("rows") else {
            return "a page without rows was read"
        }
        let read = rows.map { row in (try? JSONObject(row)).flatMap { try? SnapshotRow($0) } }
        return read == page.rows ? nil : "the quick way reads the rows of a page in another way than the long way"
    }

    /// - Parameter entry: valid JSON.
    static func check(_ entry: RawJSON) -> String? {
        guard let lean = entry.withUnsafeBufferPointer({ LeanItem(entry: $0) }) else { return nil }
        guard let whole = try? Entry(entry), case .item(let id, let publish, let body) = whole.kind,
            let object = try? JSONObject(body), let item = try? ItemBody(object)
        else { return "the quick way reads an item that the long way refuses" }
        func text(_ range: Range<Int>?) -> String? {
            range.map {
                String(
                    decoding: entry[(entry.startIndex + $0.lowerBound)..<(entry.startIndex + $0.upperBound)],
                    as: UTF8.self)
            }
        }
        let same = [
            lean.time == whole.time, ItemID(high: lean.high, low: lean.low) == id, text(lean.publish) == publish,
            text(lean.body) == String(decoding: body, as: UTF8.self), lean.sent == item.sent,
            lean.expires == item.expires,
            lean.silent == item.silent, text(lean.type) ?? "message" == item.type, text(lean.category) == item.category,
            text(lean.topic) == item.topic,
        ]
        return same.allSatisfy { $0 } ? nil : "the quick way reads an item in another way than the long way: \(same)"
    }
}
