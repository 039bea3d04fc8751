package import PealModel

extension UserProof {
    /// Whether a proof shows who the user of a device is: base64 of HMAC-SHA256(secret, id), or a user token of the instance
    /// whose subject is the id and which has not expired (docs/sync.md section 5). Any thread; does not block.
    package static func isValid(_ proof: String?, ofUser id: String, in project: Project, now: Milliseconds) -> Bool {
        guard let proof else { return false }
        guard proof.contains(".") else {
            return isValid(proof, externalID: id, email: nil, secret: project.secret)
        }
        return (try? token(proof, in: project, now: now))?.subject.utf8.elementsEqual(id.utf8) ?? false
    }

    /// A user token of a project: HS256 with its secret, issued by its instance.
    static func token(_ text: String, in project: Project, now: Milliseconds) throws(UserToken.Refusal) -> UserToken {
        try UserToken(
            verifying: text, key: Array(project.secret.utf8),
            issuers: [project.instance, "https://\(project.instance).pushnotifications.pusher.com"],
            now: Double(now) / 1_000)
    }
}
