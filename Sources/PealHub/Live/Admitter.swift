import PealModel

/// Checks who a hello is before the store judges where it stands.
enum Admitter {
    /// What becomes of a hello.
    enum Answer: Sendable {
        case admitted(Admitted)
        case attemptTooLow(last: Int64)
        case denied(CloseCode, String)
    }

    /// Runs inside the group commit.
    static func admit(_ hello: Hello, store: any HubStore, now: Milliseconds) throws(HubStoreError) -> Answer {
        guard let project = try store.project(hello.project) else {
            return .denied(.unknown, "no project has this key")
        }
        if let refusal = check(hello, project) { return refusal }
        switch try store.admit(hello, project: project.key, now: now) {
        case .admitted(let admitted): return .admitted(admitted)
        case .attemptTooLow(let last): return .attemptTooLow(last: last)
        case .refused(.conflict):
            return .denied(.unknown, "the email and the external id belong to different users, or neither was given")
        case .refused(.unauthorized): return .denied(.revoked, "the proof does not open this inbox")
        case .refused(.otherInbox): return .denied(.unknown, "this replica belongs to another inbox")
        case .refused(.revoked): return .denied(.revoked, "this inbox is no more")
        }
    }

    /// A user proves who it is by the project's HMAC (schema/rest/openapi.yaml): one that is sent is checked even where none is
    /// required. A device proves itself by its secret, which the store checks.
    private static func check(_ hello: Hello, _ project: Project) -> Answer? {
        guard case .user(let externalID, let email) = hello.inbox else { return nil }
        if let externalID, externalID.isEmpty || externalID.unicodeScalars.count > Limits.identity {
            return .denied(.unknown, "an external id has 1 to \(Limits.identity) characters")
        }
        if let email, email.isEmpty || email.unicodeScalars.count > Limits.identity {
            return .denied(.unknown, "an email has 1 to \(Limits.identity) characters")
        }
        guard let hmac = hello.proof.hmac else {
            return project.requiresHMAC ? .denied(.revoked, "this project wants an HMAC of the user") : nil
        }
        return UserProof.isValid(hmac, externalID: externalID, email: email, secret: project.secret)
            ? nil : .denied(.revoked, "the HMAC is not this user's")
    }
}
