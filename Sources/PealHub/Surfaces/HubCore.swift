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
    /// Makes webhook calls.
    let sender: WebhookSender
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
                if case .success = result {
                    hub.assumeIsolated { hub in
                        hub.tellNodes(NodeNotice(isOfProjects: true))
                        hub.bringCatalogue()
                    }
                }
                completion(result)
            })
    }

    /// The project that a name opens now.
    func project(_ name: String) -> Project? { projects.find(name, at: clock()) }

    /// A new name for a publish: `pubid-` and a random UUID, as the interests surface has it.
    static func publishName() -> String {
        var bytes = RandomBytes.make(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let id = bytes.withUnsafeBytes { ItemID(bytes: $0) }
        return "pubid-\(id.map(\.description) ?? "")"
    }
}
