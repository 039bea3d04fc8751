import PealModel
import PealReplica

/// What `--format` and `--exec` tell of an item, by name.
enum ItemField: String, CaseIterable {
    case number, id, title, content, time, ms, category, topic, type, url, interests, read, publish

    static var known: String { allCases.map(\.rawValue).joined(separator: ", ") }

    /// The value as the publisher wrote it; nil where the item has none.
    func value(_ item: DeliveredItem, _ body: ItemBody) -> String? {
        switch self {
        case .number: String(item.number)
        case .id: item.id.description
        case .title: body.title
        case .content: body.content
        case .time: Output.time(item.time)
        case .ms: String(item.time)
        case .category: item.category
        case .topic: item.topic
        case .type: item.type
        case .url: body.actionURL
        case .interests: body.interests.isEmpty ? nil : body.interests.joined(separator: ",")
        case .read: item.read ? "true" : "false"
        case .publish: item.publish
        }
    }
}

/// `--format`: text with the fields of an item in it.
struct ItemTemplate {
    private enum Part {
        case text(String)
        case field(ItemField)
    }

    private var parts: [Part] = []

    /// A template of its text: `{name}` is a field, `{{` and `}}` are braces, `\n`, `\t` and `\\` are a line's end, a tab and a backslash.
    init(_ template: String) throws(CommandError) {
        var text = ""
        var rest = template[...]
        while let character = rest.popFirst() {
            switch character {
            case "{" where rest.first == "{", "}" where rest.first == "}":
                rest.removeFirst()
                text.append(character)
            case "{":
                guard let end = rest.firstIndex(of: "}") else { throw .usage("--format has a '{' without a '}'.") }
                let name = String(rest[..<end])
                guard let field = ItemField(rawValue: name) else {
                    throw .usage("--format knows no '{\(Output.safe(name))}'. There are: \(ItemField.known).")
                }
                if !text.isEmpty { parts.append(.text(text)) }
                text = ""
                parts.append(.field(field))
                rest = rest[rest.index(after: end)...]
            case "\\":
                switch rest.popFirst() {
                case "n": text.append("\n")
                case "t": text.append("\t")
                case "\\", nil: text.append("\\")
                case .some(let other): text.append("\\\(other)")
                }
            default: text.append(character)
            }
        }
        if !text.isEmpty { parts.append(.text(text)) }
    }

    /// The text for an item. What publishers wrote has no control characters in it, so an item is as many lines as the template.
    func line(_ item: DeliveredItem) -> String {
        let body = item.content
        var line = ""
        for part in parts {
            switch part {
            case .text(let text): line += text
            case .field(let field): line += Output.safe(field.value(item, body) ?? "")
            }
        }
        return line
    }
}
