import PealHub
import PealModel

/// Tokens on live sockets as the live hub checks them, and what the checker holds against it: its knowledge of a token is what the
/// world made, never what the hub reads in it.
extension SimHub {
    func checkToken(_ token: String, _ link: Link) {
        guard let hello = link.hello else { return }
        let now = world.hubNow
        link.tokens.append(token)
        submit(link) { (store) throws(HubStoreError) in
            (try Admitter.renew(token, hello, store: store, now: now), [])
        } _: { [self] (result: Result<Admitter.Renewal, HubStoreError>) in
            guard link.isHubOpen else { return }
            switch result {
            case .success(.renewed(let expires)):
                checkToken(token, of: hello, at: now, taken: true)
                link.tokens = [token]
                perform(link.session.renewed(expires: expires), link)
            case .success(.denied(let code, let reason)):
                if !checkToken(token, of: hello, at: now, taken: false) {
                    world.fail("a good token was refused: \(reason)")
                }
                perform(link.session.denied(code, reason), link)
            case .failure:
                link.tokens.removeLast()
                perform(link.session.notRenewed(), link)
            }
        }
    }

    /// Whether what became of a token is right.
    @discardableResult
    func checkToken(_ text: String?, of hello: Hello, at now: Milliseconds, taken: Bool) -> Bool {
        guard world.schedule.shape.tokenLife != nil, case .user(let name?, _) = hello.inbox else { return taken }
        let token = text.flatMap(world.tokens.token)
        let isGood = token.map { $0.subject == name && $0.expires > now } ?? false
        if taken, !isGood { world.fail("the token of \(name) was taken: \(String(describing: token))") }
        return isGood == taken
    }

    /// What a push comes with is good at that moment.
    func checkProof(_ link: Link) {
        guard let first = link.tokens.first, let token = world.tokens.token(first) else { return }
        if token.expires <= world.hubNow { world.fail("a push was taken after its token had ended") }
    }

    /// A session ends for its token where that, or the one that was to follow it, is over.
    func checkTokenEnd(_ link: Link) {
        let ends = link.tokens.compactMap { world.tokens.token($0)?.expires }
        if !ends.contains(where: { $0 <= world.hubNow }) { world.fail("a session with a good token was ended") }
    }

    /// A session whose credit does not come back is not kept, nor one whose token is over.
    func checkPatience(_ link: Link) {
        if let inbox = link.inbox, link.sentTo > link.gotTo, world.hubNow - link.creditSince >= 60_000,
            let head = world.ghost.inboxes[inbox]?.lines.count, head > link.sentTo
        {
            world.fail("a session is kept that has returned no credit for 60 s")
        }
        guard link.joined != nil, let first = link.tokens.first, let token = world.tokens.token(first) else { return }
        if token.expires <= world.hubNow { world.fail("a session is kept whose token is over") }
    }
}
