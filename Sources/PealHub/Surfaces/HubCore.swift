import PealModel
import Synchronization

/// What a surface needs of the hub: it turns a request into a publish, an act or a read, holds no state and knows no table
/// (ARCHITECTURE.md).
struct HubCore: Sendable {
    /// Group commit.
    let committer: Committer
    /// Reads of what is committed.
    let reader: LogReader
    /// The live side.
    let hub: Hub
    /// The tenants.
    let projects: Projects
    /// Milliseconds since 1970.
    let clock: @Sendable () -> Milliseconds
    /// Writes a line about a mistake of ours.
    let log: @Sendable (String) -> Void

    /// What the hub counts of itself.
    var metrics: Metrics { hub.metrics }

    /// Replaces a project's catalogue; the answer comes once it is durable, and connected devices are told.
    func setCatalogue(
        _ categories: [Catalogue.Category], in project: ProjectKey,
        completion: @escaping @Sendable (Result<Catalogue, HubStoreError>) -> Void
    ) {
        let now = clock()
        let hub = hub
        committer.submit(
            { (store) throws(HubStoreError) in
                Committed(value: try store.setCatalogue(categories, in: project, now: now))
            },
            completion: { result in
                if case .success = result { hub.assumeIsolated { $0.bringCatalogue() } }
                completion(result)
            })
    }

    /// A new name for a publish: `pubid-` and a random UUID, as the interests surface has it.
    static func publishName() -> String {
        var bytes = RandomBytes.make(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let id = bytes.withUnsafeBytes { ItemID(bytes: $0) }
        return "pubid-\(id.map(\.description) ?? "")"
    }
}

/// The projects of the hub, in memory: every request asks for one.
final class Projects: Sendable {
    private let known: Mutex<[String: Project]>

    init(_ projects: [Project]) {
        var known: [String: Project] = [:]
        for project in projects {
            known[project.instance] = project
            known[project.apiKey] = project
        }
        self.known = Mutex(known)
    }

    /// The project of an instance id, in either case, or of an API key.
    func find(_ name: String) -> Project? {
        known.withLock { $0[name] ?? $0[name.lowercased()] }
    }
}

/// Proof of a user by the project's secret: base64(HMAC-SHA256(secret, external id, else the lower-case
/// email)).
package enum UserProof {
    static func isValid(_ hmac: String, externalID: String?, email: String?, secret: String) -> Bool {
        guard let subject = externalID ?? email?.lowercased() else { return false }
        let wanted = Base64.standard.encode(
            HMACSHA256.code(Array(subject.utf8), key: Array(secret.utf8)))
        return ConstantTime.areEqual(wanted, hmac)
    }
}
