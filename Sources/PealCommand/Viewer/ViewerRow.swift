import PealModel
import PealReplica

/// One notification as the viewer holds it. What a publisher wrote is made safe where it comes in.
struct ViewerRow: Equatable, Sendable {
    let id: ItemID
    let number: Position
    let time: Milliseconds
    let type: String
    let category: String?
    /// The category as it is, for a query.
    let slug: String?
    let topic: String?
    /// One line.
    let title: String
    /// The beginning of the text, one line.
    let summary: String
    var isRead: Bool
    var isSeen: Bool
    var isArchived: Bool
    private let body: RawJSON

    init(_ item: DeliveredItem) {
        let content = item.content
        id = item.id
        number = item.number
        time = item.time
        type = TerminalText.line(item.type)
        category = item.category.map { TerminalText.line($0) }
        slug = item.category
        topic = item.topic.map { TerminalText.line($0) }
        title = content.title.map { TerminalText.line($0) } ?? "No title"
        summary = content.content.map { TerminalText.line($0, limit: 160) } ?? ""
        isRead = item.read
        isSeen = item.seen
        isArchived = item.archived
        body = item.body
    }

    /// Where a tap leads.
    var actionURL: String? { content?.actionURL.map { TerminalText.line($0) } }
    /// A picture, film or sound.
    var mediaURL: String? { content?.media.map { TerminalText.line($0) } }
    /// The lines of the text.
    var textLines: [String] { content?.content.map(TerminalText.lines) ?? [] }

    private var content: ItemBody? { try? ItemBody(JSONObject(body)) }
}
