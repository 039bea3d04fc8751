/// What acts on other things than items, and facts about items, come to (docs/sync.md section 5).
extension Resolver {
    // MARK: Preferences

    /// Off wins over a concurrent on, whatever the clocks say: nobody opts a person in who had not seen the opt-out.
    func preference(_ key: PreferenceKey, enabled: Bool) throws(View.Failure) -> Act {
        guard !view.isDevice else { return notHere }
        guard Limits.isSlug(key.category), Limits.isSlug(key.channel) else {
            return act(
                Outcome(
                    .invalid,
                    reason: "A category and a channel are 1 to \(Limits.slug) bytes without control characters."))
        }
        let channel = try view.catalogue()?.channel(key)
        let isRequired = channel?.required ?? false
        guard enabled || !isRequired else {
            return act(Outcome(.denied, reason: "This channel is required for this category."))
        }
        let cell = try view.cell(key)
        let outcome: Outcome = isRequired || cell?.register.value ?? channel?.enabled == enabled ? .noop : .applied
        if let cell {
            if let winner = try winner(over: enabled, in: cell) {
                guard outcome != .noop else { return act(.noop) }
                return act(Outcome(.superseded, author: winner.author, position: winner.since))
            }
        } else if try view.cellCount() >= Limits.preferenceCells {
            return act(Outcome(.tooLarge, reason: "A user has at most \(Limits.preferenceCells) preferences."))
        }
        return act(outcome, effect: .preference(key, enabled: enabled))
    }

    /// What stands against an act on a cell; nil where the act is accepted. An off always is.
    private func winner(over enabled: Bool, in cell: PreferenceCell) throws(View.Failure) -> OptOut? {
        guard enabled else { return nil }
        // The newest off of somebody else, and nothing but that: the author's own is no obstacle to the author.
        for off in planted(.optOutByTime) ? [] : [cell.off, cell.otherOff] {
            guard let off, try !isOwn(off.author, off.uid) else { continue }
            if off.since > observed { return off }
            break
        }
        let current = cell.register
        if current.since <= observed { return nil }
        if try isOwn(current.author, current.uid) { return nil }
        return itime > current.itime ? nil : OptOut(since: current.since, author: current.author, uid: current.uid)
    }

    // MARK: Facts

    func track(_ item: ItemID, _ event: String, _ data: RawJSON?) throws(View.Failure) -> Act {
        guard Fact.events.contains(event) else {
            return act(Outcome(.invalid, reason: "A fact is one of \(Fact.events.sorted().joined(separator: ", "))."))
        }
        guard data?.count ?? 0 <= Limits.factData else {
            return act(Outcome(.tooLarge, reason: "What comes with a fact is at most \(Limits.factData) bytes."))
        }
        guard let state = try view.item(item), !state.deleted else { return act(.gone) }
        guard try !view.hasFact(event, of: item) else { return act(.noop) }
        return act(.applied, effect: .fact(item: item, event: event, data: data))
    }

    // MARK: Interests

    func interest(_ name: String, on: Bool) throws(View.Failure) -> Act {
        guard let current = try view.interests() else { return notHere }
        guard Limits.isInterest(name) else { return badInterest }
        guard current.contains(name) != on else { return act(.noop) }
        guard !on || current.count < Limits.interestsPerDevice else { return tooManyInterests }
        return act(.applied, effect: .interest(name: name, on: on))
    }

    /// `replace` is literal (docs/sync.md section 3).
    func interests(_ names: [String]) throws(View.Failure) -> Act {
        guard let current = try view.interests() else { return notHere }
        guard names.allSatisfy(Limits.isInterest) else { return badInterest }
        let wanted = Set(names)
        guard wanted.count <= Limits.interestsPerDevice else { return tooManyInterests }
        guard wanted != current else { return act(.noop) }
        return act(.applied, effect: .interests(wanted.sorted()))
    }

    private var badInterest: Act {
        act(Outcome(.invalid, reason: "An interest is 1 to \(Limits.interest) of a-z A-Z 0-9 _ - = @ , . ;"))
    }

    private var tooManyInterests: Act {
        act(Outcome(.tooLarge, reason: "A device has at most \(Limits.interestsPerDevice) interests."))
    }

    // MARK: The device itself

    func token(_ token: String, _ platform: String?) -> Act {
        guard view.isDevice else { return notHere }
        guard platform.map(Limits.platforms.contains) ?? true else {
            return act(
                Outcome(.invalid, reason: "A platform is one of \(Limits.platforms.sorted().joined(separator: ", "))."))
        }
        guard token.utf8.count <= Limits.token else {
            return act(Outcome(.tooLarge, reason: "A push token is at most \(Limits.token) bytes."))
        }
        return act(.applied, effect: .token(token, platform: platform))
    }

    func user(_ id: String?) -> Act {
        guard view.isDevice else { return notHere }
        guard let id else { return act(.applied, effect: .user(id: nil)) }
        guard (1...Limits.interest).contains(id.unicodeScalars.count) else {
            return act(Outcome(.invalid, reason: "A user id has 1 to \(Limits.interest) characters."))
        }
        guard isProven else {
            return act(Outcome(.denied, reason: "The proof is not this user's, or has expired."))
        }
        return act(.applied, effect: .user(id: id))
    }

    func end() -> Act {
        view.isDevice ? act(.applied, effect: .end) : notHere
    }
}
