import Peal
import PealModel
import PealReplica

/// One inbox in the viewer: the part of its list that is loaded, what is selected in it, and how the connection stands. What is selected is a
/// notification, not a row: it stays selected whatever comes and goes around it.
struct ViewerTab: Sendable {
    /// Whose inbox, safe.
    let name: String
    /// What is listed; ``filter`` says which states.
    var query: DeliveredQuery
    var filter: ViewerFilter { didSet { filter.apply(to: &query) } }

    /// Newest first.
    private(set) var rows: [ViewerRow] = []
    private(set) var hasNewer = false
    private(set) var hasOlder = false
    private(set) var isPartial = false
    private(set) var counts = Counts()
    private(set) var view: ViewPosition?
    private(set) var waiting = 0
    private(set) var dead = 0
    /// Whether a window has come.
    private(set) var isFilled = false
    /// The number of what is selected; nil where the list is empty.
    private(set) var selected: Position?
    /// The index of the row at the top of the screen.
    private(set) var top = 0

    var status = InboxStatus(state: .connecting)
    /// What went wrong with the file.
    var problem: String?
    /// Where the file could not be opened: seconds until it is tried again.
    var reopening: Int?
    /// Words are being taken into the index: not everything that matches is listed yet.
    var isSearching = false

    /// Acts that are not durable yet, by their numbers, and what they do to rows.
    var effects: [(number: Int, effect: ViewerEffect)] = []
    /// What can be taken back, oldest first.
    var undos: [ViewerUndo] = []

    private var generation = 0
    private var isLoading = false
    /// What is to be loaded after what is being loaded.
    private var next: InboxWindow.Place?
    /// How far the selection goes when more has been loaded.
    private var pendingMove = 0
    /// Where the selection goes with the next window; nil where it stays.
    private var jump: InboxWindow.Place?

    init(name: String, query: DeliveredQuery) {
        self.name = name
        self.query = query
        filter = ViewerFilter(query)
        filter.apply(to: &self.query)
    }

    var selectedIndex: Int? { selected.flatMap { index(of: $0) } }
    var selectedRow: ViewerRow? { selectedIndex.map { rows[$0] } }

    /// The index of a number, or nil.
    private func index(of number: Position) -> Int? {
        let index = place(of: number)
        return index < rows.count && rows[index].number == number ? index : nil
    }

    /// The index of the first row whose number is not above.
    private func place(of number: Position) -> Int {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].number <= number { high = middle } else { low = middle + 1 }
        }
        return low
    }

    // MARK: Loading

    /// Asks for a window, or remembers that it is wanted.
    private mutating func load(_ place: InboxWindow.Place, _ height: Int) -> ViewerLoad? {
        guard !isLoading else {
            next = place
            return nil
        }
        isLoading = true
        return ViewerLoad(query: query, place: place, reach: min(400, max(30, 2 * height)), generation: generation)
    }

    /// The list as it is now, around what is selected.
    mutating func refresh(_ height: Int) -> ViewerLoad? {
        // What is asked for already shows it.
        if isLoading, next != nil { return nil }
        return load(here, height)
    }

    /// Where the window lies. At the top nothing new is missed.
    private var here: InboxWindow.Place { selected.map { .around($0) } ?? .newest }

    /// Another list: it begins at its top, and stays on what is selected where that is in it.
    mutating func begin(_ height: Int, keeping: Bool = true) -> ViewerLoad? {
        generation += 1
        pendingMove = 0
        next = nil
        isLoading = false
        jump = keeping ? nil : .newest
        return load(keeping ? here : .newest, height)
    }

    mutating func goTo(_ place: InboxWindow.Place, _ height: Int) -> ViewerLoad? {
        pendingMove = 0
        if case .around(let number) = place, index(of: number) != nil {
            selected = number
            show(height)
            return nil
        }
        let isThere = place == .newest ? !hasNewer : place == .oldest ? !hasOlder : false
        if isThere, jump == nil, !rows.isEmpty {
            select(place == .newest ? 0 : rows.count - 1, height)
            return nil
        }
        jump = place
        return load(place, height)
    }

    /// Moves the selection; what is not loaded yet is loaded, and the rest of the way is gone then.
    mutating func move(_ distance: Int, _ height: Int) -> ViewerLoad? {
        guard pendingMove == 0, jump == nil else {
            pendingMove += distance
            return nil
        }
        guard let index = selectedIndex else { return nil }
        let target = index + distance
        let reached = min(max(target, 0), rows.count - 1)
        select(reached, height)
        let isMissing = target < 0 ? hasNewer : target >= rows.count && hasOlder
        if isMissing { pendingMove = target - reached }
        return isMissing || isNearEdge(height) ? load(here, height) : nil
    }

    private func isNearEdge(_ height: Int) -> Bool {
        guard let index = selectedIndex else { return false }
        return (hasNewer && index < height) || (hasOlder && index >= rows.count - height)
    }

    private mutating func select(_ index: Int, _ height: Int) {
        selected = rows.isEmpty ? nil : rows[index].number
        show(height)
    }

    /// Brings what is selected onto the screen.
    mutating func show(_ height: Int) {
        let index = selectedIndex ?? 0
        top = min(top, index, max(0, rows.count - height))
        top = max(top, index - height + 1, 0)
    }

    /// A window has come.
    ///
    /// - Returns: the next one that is wanted.
    mutating func take(_ window: ViewerWindow, generation: Int, _ height: Int) -> ViewerLoad? {
        guard generation == self.generation else { return nil }
        isLoading = false
        problem = nil
        isSearching = window.isSearching
        let wanted = next
        next = nil
        // On the way to somewhere else.
        if let jump, wanted == jump { return load(jump, height) }

        let oldIndex = selectedIndex ?? 0
        let screenRow = oldIndex - top
        let wasAtTop = top == 0 && !hasNewer
        replace(window)
        switch jump {
        case .newest: selected = rows.first?.number
        case .oldest: selected = rows.last?.number
        case .around(let number): selected = number
        case nil: break
        }
        settleSelection()
        let index = selectedIndex ?? 0
        // New ones are seen to come in while there is room for them above what is selected.
        top = wasAtTop && !hasNewer && index < height ? 0 : max(0, index - screenRow)
        jump = nil
        show(height)
        return goOn(wanted, height)
    }

    private mutating func goOn(_ wanted: InboxWindow.Place?, _ height: Int) -> ViewerLoad? {
        let rest = pendingMove
        pendingMove = 0
        if rest != 0, let load = move(rest, height) { return load }
        return wanted.flatMap { load($0 == .newest ? .newest : here, height) }
    }

    private mutating func replace(_ window: ViewerWindow) {
        isFilled = true
        rows = window.rows
        hasNewer = window.hasNewer
        hasOlder = window.hasOlder
        isPartial = window.isPartial
        counts = window.counts
        view = window.view
        waiting = window.waiting
        dead = window.dead
        for effect in effects { apply(effect.effect) }
    }

    /// What is gone gives the selection to the next older one.
    private mutating func settleSelection() {
        guard !rows.isEmpty else {
            selected = nil
            return
        }
        guard let number = selected else {
            selected = rows[0].number
            return
        }
        selected = rows[min(place(of: number), rows.count - 1)].number
    }

    /// A window could not be read.
    mutating func fail(_ problem: ViewerProblem, generation: Int) {
        guard generation == self.generation else { return }
        isLoading = false
        isSearching = false
        next = nil
        jump = nil
        pendingMove = 0
        self.problem = problem.message
    }

    /// The file could not be opened.
    mutating func stay(closed problem: ViewerProblem, seconds: Int) {
        fail(problem, generation: generation)
        reopening = seconds
        status = InboxStatus(state: .stopped)
    }

    /// It is open now.
    mutating func open(_ height: Int) -> ViewerLoad? {
        problem = nil
        reopening = nil
        status = InboxStatus(state: .connecting)
        return load(here, height)
    }

    /// What was taken away is there again, and selected.
    mutating func returnTo(_ number: Position, _ height: Int) -> ViewerLoad? {
        pendingMove = 0
        jump = .around(number)
        return load(.around(number), height)
    }

    /// More of the list, where what is selected comes near its end.
    mutating func more(_ height: Int) -> ViewerLoad? {
        isNearEdge(height) || (rows.isEmpty && (hasNewer || hasOlder)) ? load(here, height) : nil
    }

    // MARK: Acts

    /// Shows an act before it is durable.
    mutating func show(_ effect: ViewerEffect, number: Int, _ height: Int) {
        effects.append((number, effect))
        let screenRow = (selectedIndex ?? 0) - top
        apply(effect)
        settleSelection()
        top = max(0, (selectedIndex ?? 0) - screenRow)
        show(height)
    }

    private mutating func apply(_ effect: ViewerEffect) {
        for index in rows.indices { effect.apply(to: &rows[index]) }
        rows.removeAll { effect.deletes($0) || !filter.holds($0) }
    }
}

/// What an act does to what is shown.
enum ViewerEffect: Equatable, Sendable {
    case read(ItemID, Bool)
    case seen(ItemID)
    case archived(ItemID, Bool)
    case deleted(ItemID)
    /// Everything up to a position.
    case allRead(Position)

    func apply(to row: inout ViewerRow) {
        switch self {
        case .read(row.id, let on):
            row.isRead = on
            row.isSeen = true
        case .seen(row.id): row.isSeen = true
        case .archived(row.id, let on): row.isArchived = on
        case .allRead(let position) where row.number <= position:
            row.isRead = true
            row.isSeen = true
        default: break
        }
    }

    func deletes(_ row: ViewerRow) -> Bool { self == .deleted(row.id) }
}

/// An act that can be taken back.
struct ViewerUndo: Equatable, Sendable {
    /// The act's number.
    var number: Int
    /// What was done, for a message.
    var what: String
    /// What is selected then.
    var position: Position?
    /// What is done where the act is no longer held; nil where nothing can be.
    var instead: Operation?
}
