internal import Foundation

/// What is wanted of push tokens and what the hub may know of them, as it lies in the client's directory. Processes that share the directory share it.
struct DeviceTokenState: Codable, Equatable {
    /// A push token as the hub has it.
    struct Token: Codable, Hashable {
        var value: String
        var platform: String
    }

    /// How far a token has come on the hub.
    enum Stage: String, Codable {
        /// A request with it has begun: the hub may have it.
        case sent
        /// The hub has it for this user.
        case confirmed
        /// The hub does not take it; it is not sent again.
        case refused
    }

    struct Sent: Codable, Equatable {
        var token: Token
        var stage: Stage
    }

    /// A user who is to have the token, or of whom a token is to be taken away.
    struct Person: Codable, Equatable {
        var externalId: String?
        var email: String?
        /// Connected, as far as is known: a launch of an app does not end a user.
        var isWanted = true
        /// What proves a user who was disconnected before the hub could be told; only until it is.
        var hmac: String?
        var sent: [Sent] = []
    }

    /// What the system gave last; nil before the first.
    var token: Token?
    /// By the names of their replicas.
    var people: [String: Person] = [:]

    /// What is to be done next for a user; nil where all is as it should be, as far as it can be.
    enum Step: Equatable {
        case add(Token)
        case remove(Token)
    }

    func step(for name: String) -> Step? {
        guard let person = people[name] else { return nil }
        let wanted = person.isWanted ? token : nil
        // The old one first: the hub never has two of this device.
        if let old = person.sent.first(where: { $0.token != wanted }) { return .remove(old.token) }
        guard let wanted, person.sent.first?.stage ?? .sent == .sent else { return nil }
        return .add(wanted)
    }

    /// Notes how far a token has come; nil for not at all.
    mutating func set(_ stage: Stage?, of token: Token, for name: String) {
        people[name]?.sent.removeAll { $0.token == token }
        if let stage { people[name]?.sent.append(Sent(token: token, stage: stage)) }
        if let person = people[name], !person.isWanted, person.sent.isEmpty { people[name] = nil }
    }
}
