import Peal
import PealModel
import PealReplica

/// The viewer as a value: an event gives the next state and what is to be done; ``screen`` draws it. It knows no terminal, clock, task or file.
struct ViewerModel: Sendable {
    /// What the keys are for.
    enum Mode: Equatable, Sendable {
        case list
        /// One notification on the whole screen, so many rows further down.
        case open(ViewerRow, offset: Int)
        case help(offset: Int)
        /// A search is being typed.
        case search(String)
        /// A category is being chosen: nil is any.
        case categories([String?], index: Int)
    }

    /// Milliseconds in which a deletion can be taken back, unless something else is done.
    static let hold: Milliseconds = 10_000
    /// Characters of a search.
    static let searchLength = 200

    var layout: ViewerLayout
    var tabs: [ViewerTab]
    var current = 0
    var mode = Mode.list
    /// Said on the last row until the next key.
    var message: String?
    /// The message is of something that went wrong.
    var isProblem = false
    /// Milliseconds since 1970.
    var now: Milliseconds = 0
    /// No connection is made, as somebody wants it.
    let isOffline: Bool
    /// The number of the last act.
    var acts = 0
    /// What is being taken back, by the act's number.
    var takingBack: [Int: ViewerUndo] = [:]

    init(rows: Int, columns: Int, names: [String], query: DeliveredQuery, isOffline: Bool = false) {
        precondition(!names.isEmpty, "a viewer has an inbox")
        layout = ViewerLayout(rows: rows, columns: columns)
        tabs = names.map { ViewerTab(name: TerminalText.line($0), query: query) }
        self.isOffline = isOffline
    }

    var tab: ViewerTab {
        get { tabs[current] }
        set { tabs[current] = newValue }
    }

    var height: Int { layout.listRows }

    /// What is to be done first.
    mutating func begin() -> [ViewerCommand] {
        tabs.indices.flatMap { index in loading(tabs[index].begin(height, keeping: false), index) }
    }

    /// Takes an event.
    ///
    /// - Returns: what is to be done for it, in this order.
    mutating func handle(_ event: ViewerEvent) -> [ViewerCommand] {
        switch event {
        case .key(let key):
            message = nil
            isProblem = false
            return press(key)
        case .pasted(let text): paste(text)
        case .resized(let rows, let columns):
            layout = ViewerLayout(rows: rows, columns: columns)
            return tabs.indices.flatMap { index in
                tabs[index].show(height)
                return loading(tabs[index].refresh(height), index)
            }
        case .loaded(let index, let generation, .success(let window)):
            return loading(tabs[index].take(window, generation: generation, height), index)
        case .loaded(let index, let generation, .failure(let problem)):
            tabs[index].fail(problem, generation: generation)
        case .status(let index, let status):
            tabs[index].status = status
            if status.state == .live { return loading(tabs[index].refresh(height), index) }
        case .changed(let index): return loading(tabs[index].refresh(height), index)
        case .notOpened(let index, let problem, let seconds): tabs[index].stay(closed: problem, seconds: seconds)
        case .opened(let index): return loading(tabs[index].open(height), index)
        case .acted(let index, let number, let result): return acted(index, number, result)
        case .categories(let index, let slugs): choose(index, slugs)
        case .notice(_, let text): say(text)
        }
        return []
    }

    mutating func say(_ text: String, isProblem: Bool = false) {
        message = TerminalText.line(text)
        self.isProblem = isProblem
    }

    func loading(_ load: ViewerLoad?, _ index: Int) -> [ViewerCommand] { load.map { [.load(tab: index, $0)] } ?? [] }

    /// Does something to the list that is shown.
    mutating func list(_ body: (inout ViewerTab, Int) -> ViewerLoad?) -> [ViewerCommand] {
        loading(body(&tabs[current], height), current)
    }

    /// The categories to choose from: the project's, and those that are loaded.
    private mutating func choose(_ index: Int, _ slugs: [String]) {
        guard index == current, mode == .list else { return }
        let chosen = tab.query.categories?.first
        let all = Set(slugs + tab.rows.compactMap(\.slug) + (chosen.map { [$0] } ?? [])).sorted()
        let choices: [String?] = [nil] + all
        mode = .categories(choices, index: choices.firstIndex(of: chosen) ?? 0)
    }
}
