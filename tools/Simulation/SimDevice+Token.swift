import PealHub
import PealModel
import PealReplica

/// What becomes of a device's request for a fresh token.
enum TokenSource: CaseIterable {
    case good
    /// It answers when the connection no longer waits for it.
    case slow
    /// There is none to be had.
    case none
    /// It gives one that is over.
    case stale
    /// It gives another user's.
    case foreign
}

/// A request for a fresh token that is under way.
struct TokenFetch {
    var due: Milliseconds
    /// The first connection waits for it.
    var connects: Bool
}

/// User tokens, as the client library's shell gets them (`Inbox+Session.swift`).
extension SimDevice {
    private var usesTokens: Bool {
        if case .user = identity { world.schedule.shape.tokenLife != nil } else { false }
    }

    var needsFirstToken: Bool { usesTokens && driver.proof.token == nil }

    func fetchToken(connects: Bool = false) {
        guard usesTokens else { return drive { $0.freshToken(nil) } }
        let delay: Milliseconds = tokens == .slow ? 70_000 : 400
        fetches.append(TokenFetch(due: world.now + delay, connects: connects))
    }

    func answerFetches() {
        while let index = fetches.firstIndex(where: { $0.due <= world.now }) { answerFetch(at: index) }
    }

    /// The provider answers one request, whenever it was made.
    func answerFetch(at index: Int) {
        let fetch = fetches.remove(at: index)
        let token = freshToken()
        world.note("device \(id) gets \(token == nil ? "no" : "a") token (\(tokens))")
        if let token { driver.proof.token = token }
        guard fetch.connects else { return drive { $0.freshToken(token) } }
        if token == nil { socketClosed(CloseCode(rawValue: 1006), "there is no user token") } else { openSocket() }
    }

    private func freshToken() -> String? {
        guard case .user(let name?, _) = identity, let life = world.schedule.shape.tokenLife else { return nil }
        switch tokens {
        case .good, .slow: return world.tokens.make(for: name, expires: world.now + life)
        case .none: return nil
        case .stale: return world.tokens.make(for: name, expires: world.now - 1_000)
        case .foreign:
            hasForeignToken = true
            return world.tokens.make(for: "nobody", expires: world.now + life)
        }
    }

    /// A person must do something, and there must be a reason for it.
    func stopped(_ code: CloseCode, _ reason: String) {
        guard code == .revoked, hasForeignToken else {
            return world.fail("device \(id) stopped: \(code.rawValue) \(reason)")
        }
        world.note("device \(id) stopped: \(reason)")
        isStopped = true
    }

    /// A person signs in again.
    func signIn() {
        guard isStopped else { return }
        world.note("device \(id): its person signs in")
        isStopped = false
        hasForeignToken = false
        tokens = .good
        driver.proof.token = nil
        fetches = []
        drive { $0.start() }
    }

    /// No connection on which nothing comes is waited for longer than docs/sync.md section 6 says.
    func checkPatience() {
        guard let link, link.isDeviceOpen else { return }
        if !driver.session.isLive, world.now - link.opened >= 10_000 {
            world.fail("device \(id) waits for a welcome for more than 10 s")
        }
        if let pushed = link.pushed, pushed > link.heard, world.now - pushed >= 30_000 {
            world.fail("device \(id) waits for the answer to a push for more than 30 s")
        }
        if driver.session.isLive, link.known > store.cursor.position, world.now - link.heard >= 10_000 {
            world.fail("device \(id) waits for more of the log for more than 10 s")
        }
        if let asked = link.asked, asked > link.heard, world.now - asked >= 10_000 {
            world.fail("device \(id) waits for a page for more than 10 s")
        }
    }
}

/// The user tokens of a world: signed as an app's server signs them, and remembered, so that the checker knows what each one proves.
final class SimTokens {
    struct Token {
        var subject: String
        var expires: Milliseconds
    }

    private let key: [UInt8]
    private let issuer: String
    private var known: [String: Token] = [:]

    init(_ project: Project) {
        key = Array(project.secret.utf8)
        issuer = project.instance
    }

    /// A token of a user; its end is a whole second.
    func make(for subject: String, expires: Milliseconds) -> String {
        let seconds = expires / 1_000
        let header = Base64.url.encode(Array(#"{"alg":"HS256"}"#.utf8))
        let claims = Base64.url.encode(Array(#"{"iss":"\#(issuer)","sub":"\#(subject)","exp":\#(seconds)}"#.utf8))
        let signed = "\(header).\(claims)"
        let text = "\(signed).\(Base64.url.encode(HMACSHA256.code(Array(signed.utf8), key: key)))"
        known[text] = Token(subject: subject, expires: seconds * 1_000)
        return text
    }

    func token(_ text: String) -> Token? { known[text] }
}
