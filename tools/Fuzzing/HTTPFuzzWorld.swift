import Foundation
import PealHub
import PealHubMemory
import PealModel

/// What the hub holds before each input: a project, a user with items, a device with interests, a catalogue.
enum HTTPFuzzWorld {
    static func make() throws -> (store: MemoryHubStore, known: [String]) {
        let time = FuzzTime(HTTPFuzz.now)
        let store = MemoryHubStore(retention: Retention(), random: { time.random() })
        try store.begin()
        let project = try store.createProject(
            instance: "instance", apiKey: "key", secret: "secret", requiresHMAC: false, now: time.now)
        let mary = UserIdentity(externalID: "mary", email: "mary@example.org")
        let user = try store.upsertUser(mary, profile: UserProfile(), in: project.key, now: time.now).user
        let device = try store.registerDevice(
            platform: "apns", token: "token", metadata: nil, in: project.key, now: time.now
        ).device
        _ = try store.act(.interests(replace: ["donuts"]), uid: 1, observed: nil, in: device.inbox, now: time.now)
        let categories =
            #"{"categories":[{"slug":"billing","label":"Billing","channels":[{"slug":"email","label":"Mail","enabled":true}]}]}"#
        _ = try store.setCatalogue(
            Catalogue.categories(JSONObject(Array(categories.utf8)[...])), in: project.key, now: time.now)
        var items: [String] = []
        for index in 0..<4 {
            let published = try store.publish(
                PublishRequest(
                    project: project.key, name: "pubid-\(index)",
                    body: ItemBody(title: "Item \(index)", category: "billing", sent: time.now), interests: [],
                    recipients: [.init(identity: mary)]), now: time.now)
            items.append("\(published.appended.count)")
        }
        try store.commit()
        let reader = try store.makeReader()
        defer { reader.close() }
        let ids = try reader.snapshotPage(of: user.inbox, id: nil, below: nil, maxRows: 10, maxBytes: 10_000).rows.map {
            $0.id.description
        }
        return (store, ids + ["mary", "mary@example.org", device.id, user.inboxID, "billing", "donuts", "apns", "1"])
    }
}

/// The statuses that schema/rest/openapi.yaml has for each route. Reads no more of YAML than this file needs: two spaces a level.
struct DocumentedStatuses {
    /// "GET /path" to its statuses.
    private let statuses: [String: Set<Int>]
    /// What the description says of every path.
    private static let everywhere: Set<Int> = [400, 404, 405]

    init() {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("schema/rest/openapi.yaml")
        var statuses: [String: Set<Int>] = [:]
        var path = ""
        var operation = ""
        for line in ((try? String(contentsOf: file, encoding: .utf8)) ?? "").split(separator: "\n") {
            let depth = line.prefix { $0 == " " }.count
            let word = line.dropFirst(depth).prefix { $0 != ":" && $0 != " " }
            if depth == 0 { path = "" }
            if depth == 2 { path = word.hasPrefix("/") ? String(word) : "" }
            if depth == 4 { operation = word.uppercased() }
            guard depth == 8, !path.isEmpty, let status = Int(word.filter(\.isNumber)), word.hasPrefix("\"") else {
                continue
            }
            statuses["\(operation) \(path)", default: []].insert(status)
        }
        precondition(!statuses.isEmpty, "schema/rest/openapi.yaml has routes")
        self.statuses = statuses
    }

    func has(_ status: Int, _ method: String, _ path: String) -> Bool {
        // OpenAPI has no word for a parameter that takes the rest of a path.
        let path = path.replacing("*}", with: "}")
        return Self.everywhere.contains(status) || statuses["\(method) \(path)"]?.contains(status) == true
    }
}
