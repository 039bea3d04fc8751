internal import PealModel
internal import PealSQLite

/// What two files say beside their items: preferences, interests, marks.
extension FileComparison {
    /// Something of an inbox, other than an item, that differs.
    public struct RestDifference: Sendable, Equatable {
        /// What it is.
        public var kind: Kind
        /// What it is called: a preference's category and channel, an interest's name, or a mark's kind and reach. Names of preferences and interests
        /// are content.
        public var name: [String]
        /// Why.
        public var cause: Cause
        /// What the first file shows: whether it is on, or for a mark whether it is there; nil where nothing was chosen.
        public var a: Bool?
        /// What the second file shows.
        public var b: Bool?

        /// Of an inbox, beside its items.
        public enum Kind: String, Sendable, CaseIterable {
            /// Whether a category comes by a channel.
            case preference
            /// Whether a device wants what is published to a name.
            case interest
            /// A read-all, seen-all or archive-all.
            case mark
        }
    }

    /// Compares what is few, all of it.
    static func rest(
        _ a: (Queries, Inspection), _ b: (Queries, Inspection)
    ) throws(ReplicaError) -> [RestDifference] {
        let (left, right) = (try a.0.read(a.0.rest), try b.0.read(b.0.rest))
        // Each redacted copy has numbered its names by itself.
        let isRedacted = [a.1, b.1].contains { $0.project == Redaction.blank }
        let isOne = a.1.cursor.position == b.1.cursor.position && a.1.cursor.epoch == b.1.cursor.epoch
        let low = min(a.1.cursor.position, b.1.cursor.position)
        var found: [RestDifference] = []
        for key in Set(left.keys).union(right.keys) where key.kind == .mark || !isRedacted {
            let (one, other) = (left[key] ?? Queries.Rest(), right[key] ?? Queries.Rest())
            guard one.shown != other.shown || isOne && one.base != other.base else { continue }
            let cause: Cause
            if one.base == other.base {
                cause = .pending
            } else if key.kind == .mark {
                // A later mark takes an earlier one's place.
                cause =
                    isOne || (max(one.version, other.version) <= low && !isDominated(key, left, right))
                    ? .diverged : .behind
            } else {
                cause = isOne ? .diverged : .behind
            }
            found.append(RestDifference(kind: key.kind, name: key.name, cause: cause, a: one.shown, b: other.shown))
        }
        return found.sorted {
            ($0.kind.rawValue, $0.name.joined(separator: "\0")) < ($1.kind.rawValue, $1.name.joined(separator: "\0"))
        }
    }

    /// Whether one of the files has a mark that may have taken a mark's place.
    private static func isDominated(
        _ key: Queries.RestKey, _ left: [Queries.RestKey: Queries.Rest], _ right: [Queries.RestKey: Queries.Rest]
    ) -> Bool {
        let version = max(left[key]?.version ?? 0, right[key]?.version ?? 0)
        return [left, right].contains { side in
            side.contains { other, rest in
                other.kind == .mark && other.name[0] == key.name[0] && other.upTo >= key.upTo && rest.version > version
            }
        }
    }
}

extension Queries {
    /// What of an inbox is compared beside its items.
    struct RestKey: Hashable {
        var kind: FileComparison.RestDifference.Kind
        var name: [String]
        /// Of a mark.
        var upTo: Position = 0
    }

    /// What a file has of it.
    struct Rest: Equatable {
        var base: Bool?
        var shown: Bool?
        /// Of a mark.
        var version: Position = 0
    }

    /// All of it.
    func rest() throws(SQLiteError) -> [RestKey: Rest] {
        var found: [RestKey: Rest] = [:]
        let preferences = try connection.prepare(
            "SELECT category, channel, value, coalesce(overlay, value) FROM preference")
        while try preferences.step() {
            found[RestKey(kind: .preference, name: [preferences.text(0), preferences.text(1)])] = Rest(
                base: preferences.optionalInt64(2).map { $0 != 0 }, shown: preferences.optionalInt64(3).map { $0 != 0 })
        }
        let interests = try connection.prepare("SELECT name, base, coalesce(overlay, base) FROM interest")
        while try interests.step() {
            found[RestKey(kind: .interest, name: [interests.text(0)])] = Rest(
                base: interests.bool(1) ? true : nil, shown: interests.bool(2) ? true : nil)
        }
        let marks = try connection.prepare("SELECT kind, up_to, version FROM mark")
        while try marks.step() {
            let (kind, upTo) = (marks.text(0), marks.int64(1))
            found[RestKey(kind: .mark, name: [kind, String(upTo)], upTo: upTo)] = Rest(
                base: true, shown: true, version: marks.int64(2))
        }
        return found
    }
}
