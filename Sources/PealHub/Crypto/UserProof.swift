package import PealModel

/// What shows the hub who a user is: a keyed code of its identity, or a token, either with a secret of the project that is good now.
package enum UserProof {
    /// What a proof amounts to.
    package struct Proven: Sendable, Equatable {
        /// The external id, or the email, that it proves.
        package var subject: String
        /// When it ends: a token's own end, or that of the secret it was made with; nil for never.
        package var until: Milliseconds?
    }

    /// base64(HMAC-SHA256(secret, external id, else the lower-case email)); nil where the code is not this user's. Any thread; does
    /// not block.
    package static func code(
        _ hmac: String, externalID: String?, email: String?, in project: Project, now: Milliseconds
    ) -> Proven? {
        guard let subject = externalID ?? email?.lowercased() else { return nil }
        for secret in project.secrets(at: now) {
            let wanted = Base64.standard.encode(HMACSHA256.code(Array(subject.utf8), key: Array(secret.value.utf8)))
            if ConstantTime.areEqual(wanted, hmac) { return Proven(subject: subject, until: secret.until) }
        }
        return nil
    }

    /// A user token of a project: HS256 with a secret of it, issued by its instance. Any thread; does not block.
    ///
    /// - Throws: ``UserToken/Refusal``.
    package static func token(
        _ text: String, in project: Project, now: Milliseconds
    ) throws(UserToken.Refusal) -> Proven {
        let issuers = [project.instance, "https://\(project.instance).pushnotifications.pusher.com"]
        var refusal = UserToken.Refusal.signature
        for secret in project.secrets(at: now) {
            do throws(UserToken.Refusal) {
                let token = try UserToken(
                    verifying: text, key: Array(secret.value.utf8), issuers: issuers, now: Double(now) / 1_000)
                // A date beyond the calendar is no date that anybody waits for.
                let own = token.expires < 1e12 ? Milliseconds(token.expires * 1_000) : nil
                return Proven(subject: token.subject, until: [own, secret.until].compactMap { $0 }.min())
            } catch {
                guard error == .signature else { throw error }
                refusal = error
            }
        }
        throw refusal
    }

    /// Whether a proof shows who the user of a device is: base64 of HMAC-SHA256(secret, id), or a user token of the instance
    /// whose subject is the id and which has not expired (docs/sync.md section 5). Any thread; does not block.
    package static func isValid(_ proof: String?, ofUser id: String, in project: Project, now: Milliseconds) -> Bool {
        guard let proof else { return false }
        guard proof.contains(".") else {
            return code(proof, externalID: id, email: nil, in: project, now: now) != nil
        }
        return (try? token(proof, in: project, now: now))?.subject.utf8.elementsEqual(id.utf8) ?? false
    }
}
