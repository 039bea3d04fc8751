/// A place in an inbox's log: dense, from 1; 0 is before the first entry.
public typealias Position = Int64

/// Milliseconds since 1970 by the hub's clock, unless a name says otherwise.
public typealias Milliseconds = Int64

/// How far a replica has folded a log: one value, always written together (docs/sync.md section 2).
public struct Cursor: Hashable, Sendable {
    /// Which creation of the log is meant; nil before the first contact.
    public var epoch: UInt64?
    /// The last folded position.
    public var position: Position
    /// The log's chain value at that position: opaque here, computed by the hub.
    public var chain: UInt64

    /// A cursor of its three parts.
    public init(epoch: UInt64?, position: Position, chain: UInt64) {
        self.epoch = epoch
        self.position = position
        self.chain = chain
    }

    /// The cursor of a replica that has never met its hub.
    public static let start = Cursor(epoch: nil, position: 0, chain: 0)
}
