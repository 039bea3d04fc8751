internal import PealModel
internal import PealReplica

/// What a user wants to get: for each category of the project, by which channels. Works offline: it reads what this device holds, and a
/// change shows at once and is sent when there is a hub. Completions are called once, in the client's context.
public final class UserPreferences: Sendable {
    private let core: UserCore

    init(_ core: UserCore) { self.core = core }

    /// All preferences as they stand: what the user chose, else the project's default; a required channel is on. Empty until the project's
    /// categories have come from the hub for the first time.
    public func fetch(completion: @escaping NotificationStore.Completion<NotificationPreferences>) {
        core.run({ (inbox) throws(PealError) in try inbox.notificationPreferences() }, then: completion)
    }

    /// All preferences as they stand, as ``fetch(completion:)``.
    ///
    /// - Throws: ``PealError``: `file`, `disconnected`, `cancelled`.
    public func fetch() async throws(PealError) -> NotificationPreferences {
        try await core.call { (inbox) throws(PealError) in try inbox.notificationPreferences() }
    }

    /// Sets what is given and differs, and leaves everything else as it is; labels are not looked at. It gets all preferences as they stand then.
    /// `invalid` for a slug that is none; nothing is set then.
    public func update(
        _ preferences: NotificationPreferences,
        completion: @escaping NotificationStore.Completion<NotificationPreferences>
    ) { core.run({ (inbox) throws(PealError) in try inbox.update(preferences) }, then: completion) }

    /// Sets what is given, as ``update(_:completion:)``.
    ///
    /// - Throws: ``PealError``: `invalid`, `file`, `disconnected`, `cancelled`.
    @discardableResult
    public func update(_ preferences: NotificationPreferences) async throws(PealError) -> NotificationPreferences {
        try await core.call { (inbox) throws(PealError) in try inbox.update(preferences) }
    }

    /// Sets one channel of one category, as ``update(_:completion:)``.
    public func update(
        categorySlug: String, channelSlug: String, enabled: Bool,
        completion: @escaping NotificationStore.Completion<NotificationPreferences>
    ) {
        update(NotificationPreferences(categorySlug, channelSlug, enabled), completion: completion)
    }

    /// Sets one channel of one category, as ``update(_:completion:)``.
    ///
    /// - Throws: ``PealError``: `invalid`, `file`, `disconnected`, `cancelled`.
    @discardableResult
    public func update(
        categorySlug: String, channelSlug: String, enabled: Bool
    ) async throws(PealError) -> NotificationPreferences {
        try await update(NotificationPreferences(categorySlug, channelSlug, enabled))
    }

    /// All preferences, now and whenever they are different, whoever changed them. It ends when the user is disconnected.
    public var changes: AsyncStream<NotificationPreferences> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NotificationPreferences.self, bufferingPolicy: .bufferingNewest(1))
        let task = Task { [core] in
            var last: NotificationPreferences?
            func tell() async {
                guard
                    let now = try? await core.call({ (inbox) throws(PealError) in try inbox.notificationPreferences() }
                    ),
                    now != last
                else { return }
                last = now
                continuation.yield(now)
            }
            if let inbox = try? await core.call({ (inbox) in inbox }) {
                let changes = inbox.changes
                await tell()
                for await change in changes where change.preferences || change.everything { await tell() }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}

/// Preferences by category and channel.
public struct NotificationPreferences: Equatable, Sendable {
    /// In the project's order; one that the project does not know any more comes after those that it knows.
    public let categories: [Category]

    /// A kind of notification.
    public struct Category: Equatable, Sendable {
        /// What notifications name.
        public let slug: String
        /// What a person reads.
        public let label: String
        /// The channels by which it can come.
        public let channels: [Channel]

        /// A category of its parts; for an update the label is not needed.
        public init(slug: String, label: String = "", channels: [Channel]) {
            self.slug = slug
            self.label = label
            self.channels = channels
        }
    }

    /// A way by which a category can come.
    public struct Channel: Equatable, Sendable {
        /// Its name for programs.
        public let slug: String
        /// What a person reads.
        public let label: String
        /// Whether it is on.
        public let enabled: Bool
        /// Whether the project keeps it on whatever the user chooses.
        public let isRequired: Bool

        /// A channel of its parts; for an update the label is not needed.
        public init(slug: String, label: String = "", enabled: Bool, isRequired: Bool = false) {
            self.slug = slug
            self.label = label
            self.enabled = enabled
            self.isRequired = isRequired
        }
    }

    /// Preferences of their parts.
    public init(categories: [Category]) { self.categories = categories }

    /// Those of a replica: in the order of the catalogue, then what it does not know.
    init(_ preferences: [Preference]) {
        var categories: [(slug: String, label: String, channels: [Channel])] = []
        for preference in preferences {
            let (slug, channel) = (preference.key.category, preference.key.channel)
            let index = categories.firstIndex { $0.slug.utf8.elementsEqual(slug.utf8) } ?? categories.count
            if index == categories.count { categories.append((slug, preference.categoryLabel ?? slug, [])) }
            categories[index].channels.append(
                Channel(
                    slug: channel, label: preference.channelLabel ?? channel, enabled: preference.enabled,
                    isRequired: preference.required))
        }
        self.init(categories: categories.map { Category(slug: $0.slug, label: $0.label, channels: $0.channels) })
    }

    fileprivate init(_ category: String, _ channel: String, _ enabled: Bool) {
        self.init(categories: [Category(slug: category, channels: [Channel(slug: channel, enabled: enabled)])])
    }
}

extension Inbox {
    fileprivate func notificationPreferences() throws(PealError) -> NotificationPreferences {
        NotificationPreferences(try preferences())
    }

    fileprivate func update(_ wanted: NotificationPreferences) throws(PealError) -> NotificationPreferences {
        let present = try preferences()
        var acts: [PealModel.Operation] = []
        for category in wanted.categories {
            guard Limits.isSlug(category.slug) else { throw Self.noSlug("category", category.slug) }
            for channel in category.channels {
                guard Limits.isSlug(channel.slug) else { throw Self.noSlug("channel", channel.slug) }
                let key = PreferenceKey(category: category.slug, channel: channel.slug)
                guard present.first(where: { $0.key == key })?.enabled != channel.enabled else { continue }
                acts.append(.preference(category: key.category, channel: key.channel, enabled: channel.enabled))
            }
        }
        for act in acts { try perform(act) }
        return try notificationPreferences()
    }

    private static func noSlug(_ what: String, _ slug: String) -> PealError {
        PealError(.invalid, "the \(what)'s slug is not 1 to \(Limits.slug) bytes without control characters")
    }
}
