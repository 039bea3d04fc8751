/// The close codes of docs/sync.md section 6. They say what to do: 40xx reconnect with back-off, 41xx do something and then
/// reconnect, 42xx stop.
public struct CloseCode: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public let rawValue: UInt16
    /// A code of its number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The hub is busy or failed; back-off.
    public static let tryAgain = CloseCode(rawValue: 4000)
    /// The hub is draining.
    public static let draining = CloseCode(rawValue: 4003)
    /// A gap in the log was seen.
    public static let gap = CloseCode(rawValue: 4004)
    /// No progress for 10 s.
    public static let stalled = CloseCode(rawValue: 4005)
    /// No credit for 60 s.
    public static let noCredit = CloseCode(rawValue: 4008)
    /// Too many frames or hellos.
    public static let rate = CloseCode(rawValue: 4029)
    /// A new token is needed.
    public static let newToken = CloseCode(rawValue: 4101)
    /// The chain does not match: snapshot.
    public static let chainMismatch = CloseCode(rawValue: 4102)
    /// The replica was restored or cloned: a new identity.
    public static let forked = CloseCode(rawValue: 4103)
    /// A frame was too large.
    public static let frameTooLarge = CloseCode(rawValue: 4104)
    /// A newer session of the same replica took over; hello again after 60 s.
    public static let replaced = CloseCode(rawValue: 4105)
    /// A wire version that the other end does not speak.
    public static let version = CloseCode(rawValue: 4200)
    /// Not, or no longer, allowed.
    public static let revoked = CloseCode(rawValue: 4201)
    /// A frame that breaks the protocol.
    public static let protocolError = CloseCode(rawValue: 4203)
    /// An unknown project, user or inbox.
    public static let unknown = CloseCode(rawValue: 4204)

    /// What a replica does after a close.
    public enum Consequence: Equatable, Sendable {
        /// Reconnect with back-off.
        case backOff
        /// Do something first, then reconnect.
        case act
        /// Stop until a person changes something.
        case stop
    }

    /// What a replica does after it; a code outside our ranges is a lost connection.
    public var consequence: Consequence {
        switch rawValue {
        case 4100...4199: .act
        case 4200...4299: .stop
        default: .backOff
        }
    }
}

/// A frame that cannot be taken: what to close with, and a sentence that names the member.
public struct FrameError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What the receiver closes with.
    public let close: CloseCode
    /// What is wrong; nothing of the frame's content.
    public let reason: String

    /// A frame error.
    public init(_ close: CloseCode, _ reason: String) {
        self.close = close
        self.reason = reason
    }

    /// A sentence for a log.
    public var description: String { "\(reason) (close \(close.rawValue))" }
}
