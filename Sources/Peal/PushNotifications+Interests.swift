internal import PealModel
internal import PealReplica
internal import Synchronization

/// What this device wants to hear of. Each call is durable, and shows, when it returns, with or without a hub; the hub decides by the order of
/// arrival (docs/sync.md section 3).
extension PushNotifications {
    /// Told when the interests change, whoever changed them; held weakly. Any thread.
    public var delegate: (any InterestsChangedDelegate)? {
        get { shown.withLock { $0.interestsDelegate?.observer } }
        set { shown.withLock { $0.interestsDelegate = newValue.map { WeakObserver($0) } } }
    }

    /// The interests of this device, sorted; none where it is not started, or stopped. Not blocking.
    public func getDeviceInterests() -> [String] {
        shown.withLock { $0.file == nil ? [] : $0.interests }
    }

    /// Replaces all interests. The same ones again are no change; one that is named twice counts once.
    ///
    /// - Throws: ``MultipleInvalidInterestsError``, and then nothing is changed; ``PealError``: `invalid` for more than 5,000,
    ///   `notStarted`, `file`.
    public func setDeviceInterests(interests: [String]) throws {
        let invalid = interests.filter { !Limits.isInterest($0) }
        guard invalid.isEmpty else { throw MultipleInvalidInterestsError(invalidInterests: invalid) }
        let wanted = Set(interests).sorted()
        try onDevice { (inbox) throws(PealError) in
            guard try inbox.interests() != wanted else { return }
            try inbox.replaceInterests(wanted)
        }
    }

    /// Adds an interest; one that is there already is no change.
    ///
    /// - Throws: ``InvalidInterestError``; ``PealError``: `invalid` beyond 5,000, `notStarted`, `file`.
    public func addDeviceInterest(interest: String) throws {
        guard Limits.isInterest(interest) else { throw InvalidInterestError(interest: interest) }
        try onDevice { (inbox) throws(PealError) in
            let present = try inbox.interests()
            guard !present.contains(interest) else { return }
            guard present.count < Limits.interestsPerDevice else {
                throw PealError(.invalid, "a device has at most \(Limits.interestsPerDevice) interests")
            }
            try inbox.perform(.interest(name: interest, on: true))
        }
    }

    /// Removes an interest; one that is not there is no change.
    ///
    /// - Throws: ``InvalidInterestError``; ``PealError``: `notStarted`, `file`.
    public func removeDeviceInterest(interest: String) throws {
        guard Limits.isInterest(interest) else { throw InvalidInterestError(interest: interest) }
        try onDevice { (inbox) throws(PealError) in
            guard try inbox.interests().contains(interest) else { return }
            try inbox.perform(.interest(name: interest, on: false))
        }
    }

    /// Removes all interests: the same as setting none.
    ///
    /// - Throws: ``PealError``: `notStarted`, `file`.
    public func clearDeviceInterests() throws { try setDeviceInterests(interests: []) }

    /// Carries something out on the present device's inbox. Blocking for that. With `life`, so that nothing comes behind the end of a device.
    private func onDevice(_ body: @escaping @Sendable (isolated Inbox) throws(PealError) -> Void) throws(PealError) {
        let isStarted = try life.withLock { (started: inout Started?) throws(PealError) in
            guard let inbox = started?.inbox else { return false }
            try inbox.blocking(body)
            return true
        }
        guard isStarted else { throw notStarted }
    }
}

extension Inbox {
    /// Bytes of names that one act holds, quotes and commas included; a frame has 64 KiB.
    private static let namesOfAnAct = 60_000

    /// Replaces the device's interests: in one act, but for names beyond what an act can hold, which follow one by one.
    func replaceInterests(_ names: [String]) throws(PealError) {
        guard names.count <= Limits.interestsPerDevice else {
            throw PealError(.invalid, "a device has at most \(Limits.interestsPerDevice) interests")
        }
        var bytes = 0
        let first = names.prefix {
            bytes += $0.utf8.count + 3
            return bytes <= Self.namesOfAnAct
        }
        try perform(.interests(replace: Array(first)))
        for name in names[first.endIndex...] { try perform(.interest(name: name, on: true)) }
    }
}
