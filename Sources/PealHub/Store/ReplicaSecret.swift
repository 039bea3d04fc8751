package import PealModel

/// The secret of a replica: a keyed digest of its inbox and its id, so that it needs no row and outlives a restored backup.
package enum ReplicaSecret {
    /// The secret, 64 hexadecimal digits.
    package static func text(seed: [UInt8], inbox: String, replica: ReplicaID) -> String {
        Hexadecimal.encode(HMACSHA256.code(Array("replica \(inbox) \(replica)".utf8), key: seed))
    }

    /// Whether a text is the secret, in constant time.
    package static func matches(_ text: String?, seed: [UInt8], inbox: String, replica: ReplicaID) -> Bool {
        guard let text else { return false }
        return ConstantTime.areEqual(text, Self.text(seed: seed, inbox: inbox, replica: replica))
    }
}
