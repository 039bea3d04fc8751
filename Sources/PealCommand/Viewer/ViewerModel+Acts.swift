import PealModel
import PealReplica

/// What is done to notifications: shown at once, then made durable.
extension ViewerModel {
    /// Keys that do something to what is selected; nil for another key.
    mutating func act(_ key: ViewerKey) -> [ViewerCommand]? {
        guard case .character(let letter) = key, "rusadAUzo".contains(letter) else { return nil }
        switch letter {
        case "A": return readAll()
        case "U", "z": return takeBack()
        default: break
        }
        guard let row = tab.selectedRow else { return [] }
        switch letter {
        case "r": return read(row, true)
        case "u": return read(row, false)
        case "s": return seen(row)
        case "a": return archive(row)
        case "d": return delete(row)
        default:
            say(row.actionURL ?? row.mediaURL ?? "It leads nowhere.")
            return []
        }
    }

    /// Shows an act, and has it done.
    private mutating func perform(
        _ operation: PealModel.Operation, _ effect: ViewerEffect, hold: Milliseconds = 0, undo: ViewerUndo?,
        said: String?
    ) -> [ViewerCommand] {
        acts += 1
        let number = acts
        let observed = tab.view
        // What is held can be sent from now on; what cannot be done otherwise stands.
        tab.undos.removeAll { $0.instead == nil }
        tab.show(effect, number: number, height)
        if case .open(var row, let offset) = mode {
            effect.apply(to: &row)
            mode = .open(row, offset: offset)
        }
        if var undo {
            undo.number = number
            tab.undos.append(undo)
            if tab.undos.count > 100 { tab.undos.removeFirst() }
        }
        if let said { say(said) }
        return [.act(tab: current, number: number, operation, observed: observed, hold: hold)]
            + list { $0.more($1) }
    }

    mutating func read(_ row: ViewerRow, _ on: Bool, isSaid: Bool = true) -> [ViewerCommand] {
        guard row.isRead != on else { return [] }
        let what = on ? "Marked read" : "Marked unread"
        return perform(
            .read(items: [row.id], on: on, passive: false), .read(row.id, on),
            undo: ViewerUndo(
                number: 0, what: what, position: row.number,
                instead: .read(items: [row.id], on: !on, passive: false)),
            said: isSaid ? "\(what). U takes it back." : nil)
    }

    private mutating func seen(_ row: ViewerRow) -> [ViewerCommand] {
        guard !row.isSeen else { return [] }
        return perform(.seen(items: [row.id]), .seen(row.id), undo: nil, said: "Marked seen.")
    }

    private mutating func archive(_ row: ViewerRow) -> [ViewerCommand] {
        let on = !row.isArchived
        let what = on ? "Archived" : "Taken out of the archive"
        return perform(
            .archive(items: [row.id], on: on), .archived(row.id, on), hold: on ? Self.hold : 0,
            undo: ViewerUndo(
                number: 0, what: what, position: row.number, instead: .archive(items: [row.id], on: !on)),
            said: "\(what). U takes it back.")
    }

    private mutating func delete(_ row: ViewerRow) -> [ViewerCommand] {
        perform(
            .delete(items: [row.id]), .deleted(row.id), hold: Self.hold,
            undo: ViewerUndo(number: 0, what: "Deleted", position: row.number, instead: nil),
            said: "Deleted. U takes it back, for \(Self.hold / 1_000) s or until you do something else.")
    }

    /// Everything that the list holds, up to what was shown.
    private mutating func readAll() -> [ViewerCommand] {
        guard let view = tab.view, !tab.rows.isEmpty else { return [] }
        let isWhole =
            tab.query.categories == nil && tab.query.topics == nil && tab.query.text == nil && tab.query.type == nil
            && tab.query.since == nil && tab.query.until == nil && tab.filter != .archived
        guard isWhole else {
            acts += 1
            say("Marking what is listed read.")
            return [.markAll(tab: current, number: acts, tab.query, observed: view)]
        }
        return perform(
            .mark(.read, upTo: view.position), .allRead(view.position), hold: Self.hold,
            undo: ViewerUndo(number: 0, what: "Marked all read", position: tab.selected, instead: nil),
            said: "All marked read. U takes it back, for \(Self.hold / 1_000) s or until you do something else.")
    }

    private mutating func takeBack() -> [ViewerCommand] {
        guard let undo = tab.undos.popLast() else {
            say("There is nothing to take back.")
            return []
        }
        takingBack[undo.number] = undo
        return [.undo(tab: current, number: undo.number, instead: undo.instead)]
    }

    /// An act is durable, or was taken back, or neither.
    mutating func acted(_ index: Int, _ number: Int, _ result: Result<Bool, ViewerProblem>) -> [ViewerCommand] {
        tabs[index].effects.removeAll { $0.number == number }
        let undo = takingBack.removeValue(forKey: number)
        switch result {
        case .success(true):
            guard let undo else { return [] }
            say("\(undo.what): taken back.")
            guard let position = undo.position else { return loading(tabs[index].refresh(height), index) }
            return loading(tabs[index].returnTo(position, height), index)
        case .success(false):
            if let undo { say("\(undo.what): that is too long ago to be taken back.", isProblem: true) }
        case .failure(let problem): say(problem.message, isProblem: true)
        }
        return loading(tabs[index].refresh(height), index)
    }
}
