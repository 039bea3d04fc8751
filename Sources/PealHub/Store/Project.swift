package import PealModel

/// A tenant: what names it and what opens it.
package struct Project: Equatable, Sendable {
    /// A value that a rotation replaced and that is good for some time all the same.
    package struct Retired: Equatable, Sendable {
        /// The value.
        package var value: String
        /// When it ends.
        package var until: Milliseconds

        /// A value of its parts.
        package init(_ value: String, until: Milliseconds) {
            self.value = value
            self.until = until
        }
    }

    /// Its row.
    package var key: ProjectKey
    /// The instance id, a lower-case UUID.
    package var instance: String
    /// The operator's word for it; may be empty.
    package var name = ""
    /// The public key.
    package var apiKey: String
    /// The key before the last rotation.
    package var oldAPIKey: Retired?
    /// 64 hexadecimal characters; HMAC and user tokens need it readable.
    package var secret: String
    /// The secret before the last rotation.
    package var oldSecret: Retired?
    /// Whether a user must prove its identity.
    package var requiresHMAC: Bool
    /// When it was made.
    package var created: Milliseconds
    /// When it was closed; nil for one that is open.
    package var revoked: Milliseconds?

    /// A project of its parts, not rotated and not closed.
    package init(
        key: ProjectKey, instance: String, apiKey: String, secret: String, requiresHMAC: Bool, created: Milliseconds
    ) {
        self.key = key
        self.instance = instance
        self.apiKey = apiKey
        self.secret = secret
        self.requiresHMAC = requiresHMAC
        self.created = created
    }
}

extension Project {
    /// Characters of a name at most.
    package static let nameLimit = 100
    /// How long a replaced value may stay good at most: 90 days.
    package static let overlapLimit: Milliseconds = 90 * 86_400_000

    /// Whether a name is this project's now: its instance id, its key, or the key before while that is good.
    package func isNamed(_ name: String, at now: Milliseconds) -> Bool {
        guard revoked == nil else { return false }
        return name.utf8.elementsEqual(instance.utf8) || hasKey(name, at: now)
    }

    /// Whether a text is the key, or the key before while that is good; in constant time.
    package func hasKey(_ text: String, at now: Milliseconds) -> Bool {
        guard revoked == nil else { return false }
        let isNew = ConstantTime.areEqual(text, apiKey)
        let isOld = oldAPIKey.map { now < $0.until && ConstantTime.areEqual(text, $0.value) } ?? false
        return isNew || isOld
    }

    /// Whether a text is the secret, or the secret before while that is good; in constant time.
    package func hasSecret(_ text: String, at now: Milliseconds) -> Bool {
        secrets(at: now).reduce(false) { found, secret in ConstantTime.areEqual(text, secret.value) || found }
    }

    /// What is good now, the newest first, each with its end; none for a closed project.
    package func secrets(at now: Milliseconds) -> [(value: String, until: Milliseconds?)] {
        guard revoked == nil else { return [] }
        guard let oldSecret, now < oldSecret.until else { return [(secret, nil)] }
        return [(secret, nil), (oldSecret.value, oldSecret.until)]
    }

    /// Replaces key or secret or both. What was current stays good until a time; what the rotation before had left ends at once.
    ///
    /// - Parameters:
    ///   - key: the new key; nil for none.
    ///   - secret: the new secret; nil for none.
    package mutating func rotate(key: String?, secret: String?, until: Milliseconds) {
        if let key {
            oldAPIKey = Retired(apiKey, until: until)
            apiKey = key
        }
        if let secret {
            oldSecret = Retired(self.secret, until: until)
            self.secret = secret
        }
    }

    /// Whether something of it ended within a span of time, its end included.
    func hasEnded(after start: Milliseconds, through end: Milliseconds) -> Bool {
        [oldAPIKey?.until, oldSecret?.until].contains { until in until.map { start < $0 && $0 <= end } ?? false }
    }

    /// A new API key.
    package static func makeKey() -> String { Hexadecimal.encode(RandomBytes.make(20)) }

    /// A new instance id: a random UUID.
    package static func makeInstance() -> String { String(HubCore.publishName().dropFirst("pubid-".count)) }
}
