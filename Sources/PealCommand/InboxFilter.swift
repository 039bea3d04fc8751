import PealReplica

/// Which items a list or a tail shows: the options, and the query that they make.
enum InboxFilter {
    static let options = [
        Option(name: "unread", value: nil, help: "only unread ones"),
        Option(name: "read", value: nil, help: "only read ones"),
        Option(name: "unseen", value: nil, help: "only unseen ones"),
        Option(name: "type", value: "TYPE", help: "only this type"),
        Option(name: "category", value: "SLUG", help: "only these categories", repeats: true),
        Option(name: "topic", value: "TOPIC", help: "only these topics", repeats: true),
        Option(name: "interest", value: "NAME", help: "only what came by these interests", repeats: true),
        Option(name: "search", value: "TEXT", help: "only those with this text in title or content"),
    ]

    /// The query of these options, archived ones too.
    static func query(_ arguments: Arguments) throws(CommandError) -> DeliveredQuery {
        if arguments.has("read"), arguments.has("unread") { throw .usage("--read and --unread exclude each other.") }
        func list(_ name: String) -> [String]? {
            let values = arguments.list(name)
            return values.isEmpty ? nil : values
        }
        return DeliveredQuery(
            type: arguments.value("type"), categories: list("category"), topics: list("topic"),
            interests: list("interest"), read: arguments.has("read") ? true : arguments.has("unread") ? false : nil,
            seen: arguments.has("unseen") ? false : nil, archived: nil, text: arguments.value("search"))
    }
}
