package import PealModel

/// Checks who a hello is before the store judges where it stands; the live hub and the simulator share it.
package enum Admitter {
    /// What becomes of a hello.
    package enum Answer: Sendable {
        /// `expires` is when the token that proved it ends; nil for a proof that does not.
        case admitted(Admitted, expires: Milliseconds?)
        case attemptTooLow(last: Int64)
        case denied(CloseCode, String)
    }

    /// What becomes of a fresh token on a live socket.
    package enum Renewal: Sendable {
        case renewed(expires: Milliseconds)
        case denied(CloseCode, String)
    }

    /// What a hello, or a token, proves.
    private enum Check {
        case good(expires: Milliseconds?)
        case denied(CloseCode, String)
    }

    /// Runs inside the group commit.
    package static func admit(
        _ hello: Hello, store: any HubStore, now: Milliseconds
    ) throws(HubStoreError) -> Answer {
        guard let project = try store.project(hello.project), project.isNamed(hello.project, at: now) else {
            return .denied(.unknown, "no project has this key")
        }
        let expires: Milliseconds?
        switch check(hello, project, now: now) {
        case .good(let end): expires = end
        case .denied(let code, let reason): return .denied(code, reason)
        }
        switch try store.admit(hello, project: project.key, now: now) {
        case .admitted(let admitted): return .admitted(admitted, expires: expires)
        case .attemptTooLow(let last): return .attemptTooLow(last: last)
        case .refused(.conflict):
            return .denied(.unknown, "the email and the external id belong to different users, or neither was given")
        case .refused(.unauthorized): return .denied(.revoked, "the proof does not open this inbox")
        case .refused(.otherInbox): return .denied(.unknown, "this replica belongs to another inbox")
        case .refused(.revoked): return .denied(.revoked, "this inbox is no more")
        }
    }

    /// Checks a fresh token of a session that was opened with a hello. Runs inside the group commit.
    package static func renew(
        _ token: String, _ hello: Hello, store: any HubStore, now: Milliseconds
    ) throws(HubStoreError) -> Renewal {
        guard let project = try store.project(hello.project), project.isNamed(hello.project, at: now) else {
            return .denied(.unknown, "no project has this key")
        }
        guard case .user(let externalID?, _) = hello.inbox else {
            return .denied(.protocolError, "this inbox is not opened by a token")
        }
        switch check(token, of: externalID, project, now: now) {
        case .good(let expires): return .renewed(expires: expires ?? .max)
        case .denied(let code, let reason): return .denied(code, reason)
        }
    }

    /// A user proves who it is by a token or by the project's HMAC (schema/rest/openapi.yaml): one that is sent is checked even
    /// where none is required. A device proves itself by its secret, which the store checks.
    private static func check(_ hello: Hello, _ project: Project, now: Milliseconds) -> Check {
        guard case .user(let externalID, let email) = hello.inbox else { return .good(expires: nil) }
        if let externalID, externalID.isEmpty || externalID.unicodeScalars.count > Limits.identity {
            return .denied(.unknown, "an external id has 1 to \(Limits.identity) characters")
        }
        if let email, email.isEmpty || email.unicodeScalars.count > Limits.identity {
            return .denied(.unknown, "an email has 1 to \(Limits.identity) characters")
        }
        if let token = hello.proof.token {
            guard let externalID else { return .denied(.revoked, "a token is of an external id") }
            return check(token, of: externalID, project, now: now)
        }
        guard let hmac = hello.proof.hmac else {
            return project.requiresHMAC
                ? .denied(.revoked, "this project wants an HMAC of the user") : .good(expires: nil)
        }
        return UserProof.code(hmac, externalID: externalID, email: email, in: project, now: now) != nil
            ? .good(expires: nil) : .denied(.revoked, "the HMAC is not this user's")
    }

    /// A token that is over asks for a fresh one; any other that is not good is refused for good.
    private static func check(
        _ token: String, of externalID: String, _ project: Project, now: Milliseconds
    ) -> Check {
        do throws(UserToken.Refusal) {
            let token = try UserProof.token(token, in: project, now: now)
            guard token.subject.utf8.elementsEqual(externalID.utf8) || planted(.tokenOfAnother) else {
                return .denied(.revoked, "the token is another user's")
            }
            return .good(expires: token.until)
        } catch {
            return .denied(error == .expired ? .newToken : .revoked, error.message)
        }
    }

    /// Whether a live session may go on after its project has changed; nil where it may.
    ///
    /// - Parameters:
    ///   - hello: with the newest token, where there was a later one.
    ///   - project: nil where the name in the hello opens none any more.
    package static func objection(to hello: Hello, _ project: Project?, now: Milliseconds) -> String? {
        guard let project else { return "the project's key was revoked" }
        // The end of a token is the session's own affair.
        if case .denied(let code, let reason) = check(hello, project, now: now), code != .newToken { return reason }
        return nil
    }
}
