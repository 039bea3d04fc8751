import PealModel
import Synchronization

/// The projects of the hub and the operator's token, in memory: every request asks for one. What the store holds is the truth; another
/// process may change it (`peal projects`), so the hub looks from time to time.
final class Projects: Sendable {
    private struct Known {
        var projects: [ProjectKey: Project] = [:]
        var byName: [String: ProjectKey] = [:]
        var operatorHash: [UInt8]?

        mutating func set(_ projects: [ProjectKey: Project]) {
            self.projects = projects
            byName = [:]
            for project in projects.values {
                for name in [project.instance, project.apiKey, project.oldAPIKey?.value].compactMap({ $0 }) {
                    byName[name] = project.key
                }
            }
        }
    }

    private let known: Mutex<Known>

    init(_ projects: [Project], operatorHash: [UInt8]?) {
        var known = Known()
        known.operatorHash = operatorHash
        known.set(Dictionary(projects.map { ($0.key, $0) }) { $1 })
        self.known = Mutex(known)
    }

    /// The project of an instance id, in either case, or of an API key, where the name is good now. Any thread.
    func find(_ name: String, at now: Milliseconds) -> Project? {
        known.withLock { known in
            for name in [name, name.lowercased()] {
                if let key = known.byName[name], let project = known.projects[key], project.isNamed(name, at: now) {
                    return project
                }
            }
            return nil
        }
    }

    /// The newest secret of a project; nil for one that is closed. Any thread.
    func secret(of key: ProjectKey, at now: Milliseconds) -> String? {
        known.withLock { $0.projects[key]?.secrets(at: now).first?.value }
    }

    /// Whether a text is the operator's token, in constant time. Any thread.
    func isOperator(_ token: String) -> Bool {
        let hash = known.withLock { $0.operatorHash }
        return hash.map { Secret.matches(token, stored: $0) } ?? false
    }

    /// Takes what the store holds now, and gives those that are not as they were or of which something ended within a span.
    func replace(
        _ tenants: [Project], operatorHash: [UInt8]?, from start: Milliseconds, to end: Milliseconds
    ) -> Set<ProjectKey> {
        known.withLock { known in
            known.operatorHash = operatorHash
            let changed = tenants.filter { known.projects[$0.key] != $0 || $0.hasEnded(after: start, through: end) }
            known.set(Dictionary(tenants.map { ($0.key, $0) }) { $1 })
            return Set(changed.map(\.key))
        }
    }

    /// Takes one that was just made or changed.
    func put(_ project: Project) {
        known.withLock { known in
            var projects = known.projects
            projects[project.key] = project
            known.set(projects)
        }
    }
}
