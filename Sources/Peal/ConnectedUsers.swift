internal import Synchronization

/// The users of a client by the paths of their replicas, those that are being closed, and what their statuses amount to.
final class ConnectedUsers: Sendable {
    private struct State {
        var users: [String: User] = [:]
        var closing: [String: Task<Void, Never>] = [:]
        var statuses: [String: ClientStatus] = [:]
    }

    private let state = Mutex(State())
    let told = Told(ClientStatus(state: .offline))
    /// Whenever somebody came or went.
    let membership = Broadcast<Void>(limit: 1)

    /// Those that are connected, by the paths of their replicas.
    var byPath: [String: User] { state.withLock { $0.users } }

    var all: [User] { state.withLock { Array($0.users.values) } }

    func user(_ path: String) -> User? { state.withLock { $0.users[path] } }

    /// The user of a path; a new one is made where there is none, and is given what it has to wait for.
    func user(_ path: String, make: (Task<Void, Never>?) -> User) -> (user: User, isNew: Bool) {
        let found = state.withLock { state in
            if let user = state.users[path] { return (user: user, isNew: false) }
            let user = make(state.closing[path])
            state.users[path] = user
            return (user: user, isNew: true)
        }
        if found.isNew { membership.send(()) }
        return found
    }

    /// Takes a user out, who may not be there; `close` gets them and what was being closed before, and tells what is to be waited for.
    func end(_ path: String, close: (User?, Task<Void, Never>?) -> Task<Void, Never>) {
        state.withLock { state in
            // Within the lock, so that whoever connects the same user next waits for it.
            state.closing[path] = close(state.users.removeValue(forKey: path), state.closing[path])
        }
        membership.send(())
    }

    /// The status of one; nil where it is gone.
    func tell(_ status: ClientStatus?, of path: String) {
        let all = state.withLock { state in
            state.statuses[path] = status
            return Array(state.statuses.values)
        }
        told.tell(ClientStatus(all))
    }
}
