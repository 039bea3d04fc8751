/// A key that somebody pressed.
enum ViewerKey: Equatable, Sendable {
    case character(Character)
    /// With the control key; the letter is a small one.
    case control(Character)
    case up, down, left, right, pageUp, pageDown, home, end
    case enter, escape, tab, backTab, backspace, delete
    /// Some other function key.
    case other

    /// What a terminal sends for a character.
    init(scalar: Unicode.Scalar) {
        switch scalar.value {
        case 0x0A, 0x0D: self = .enter
        case 0x09: self = .tab
        case 0x1B: self = .escape
        case 0x08, 0x7F: self = .backspace
        case 0..<0x20:
            self = Unicode.Scalar(0x60 + scalar.value).map { .control(Character($0)) } ?? .other
        default: self = .character(Character(scalar))
        }
    }
}
