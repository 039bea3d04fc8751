internal import PealModel
internal import PealSQLite

/// The check of what a hub lists, item by item.
extension Verifier {
    /// Compares the base with a hub's list, in the order of positions; only where both stand at one position do they have to agree.
    func compare(_ hub: HubItems, now: Milliseconds) -> Verification.Check {
        let what = hub.above > 0 ? "the newest \(hub.items.count) items" : "each of the \(hub.items.count) items"
        var check = Verification.Check(
            name: "hubItems",
            claim: "\(what) that the hub lists are read, seen and archived as here, and no others are", result: .passed)
        let at = state.cursor.position
        guard hub.position == at else {
            check.result = .skipped("the file is at \(at), the hub at \(hub.position)")
            return check
        }
        do throws(SQLiteError) {
            let evidence = try differences(hub, now: now)
            if !evidence.isEmpty { check.result = .failed(Array(evidence.prefix(Verification.maximumEvidence))) }
        } catch {
            check.result = .failed(["it cannot be read: \(error.message)"])
        }
        return check
    }

    /// What ends within this is neither here nor there with certainty.
    private static let slack: Milliseconds = 60_000

    private func differences(_ hub: HubItems, now: Milliseconds) throws(SQLiteError) -> [String] {
        let marks = try Marks(connection)
        var listed = Dictionary(hub.items.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        var found: [String] = []
        try eachItem { item in
            let number = item.state.position
            guard number > hub.above else { return true }
            let other = listed.removeValue(forKey: number)
            if let expires = item.expires, expires <= now + Self.slack { return true }
            guard let other else {
                if !item.silent { found.append("item \(number) is here and not at the hub") }
                return true
            }
            let fields = [
                ("read", marks.isRead(item.state), other.read), ("seen", marks.isSeen(item.state), other.seen),
                ("archived", marks.isArchived(item.state), other.archived),
            ]
            for (name, here, there) in fields where here != there {
                found.append(
                    "item \(number) is \(here ? "" : "not ")\(name) here, and \(there ? "" : "not ")\(name) at the hub")
            }
            return true
        }
        found += listed.keys.sorted().map { "item \($0) is at the hub and not here" }
        guard found.count > Verification.maximumEvidence else { return found }
        return found.prefix(Verification.maximumEvidence - 1) + ["there are \(found.count) differences in all"]
    }
}
