/// Every limit of the contract in one place, each with its reason.
public enum Limits {
    /// Bytes of a frame from a replica: one full mutation of 500 items is 20 kB (docs/sync.md section 6).
    public static let frameUp = 64 * 1024
    /// Bytes of a frame to a replica: the largest item, many times (docs/sync.md section 6).
    public static let frameDown = 256 * 1024
    /// Bytes of one encoded item: what cannot be delivered must not be accepted (docs/sync.md section 6).
    public static let item = 16 * 1024
    /// Items of one mutation (docs/sync.md section 4).
    public static let itemsPerMutation = 500
    /// Mutations of one push (docs/sync.md section 6).
    public static let mutationsPerPush = 100
    /// Unacknowledged entries of a session: 64 pages of a viewer.
    public static let windowEntries = 4_096
    /// Unacknowledged bytes of a session: four full frames.
    public static let windowBytes = 1024 * 1024
    /// Rows of a snapshot page; a page also keeps to ``frameDown``, which ends those of most items before: the larger, the less is written
    /// twice.
    public static let pageRows = 1_000
    /// Characters of a title, as the inbox surface has it.
    public static let title = 255
    /// Characters of a category or a topic.
    public static let category = 100
    /// Characters of an action or media URL.
    public static let url = 2_048
    /// Bytes of custom attributes.
    public static let attributes = 6 * 1024
    /// Characters of an interest's name and of a user id of the interests surface.
    public static let interest = 164
    /// Interests of one publish.
    public static let interestsPerPublish = 100
    /// Interests of a device.
    public static let interestsPerDevice = 5_000
    /// Users or recipients of one publish.
    public static let usersPerPublish = 1_000
    /// Characters of an email or an external id.
    public static let identity = 255
    /// Characters of a person's first or last name, and of a phone number.
    public static let personName = 50
    /// Characters of a push token on the inbox surface.
    public static let subscriptionToken = 255
    /// Phone numbers of a user.
    public static let phoneNumbers = 50
    /// Bytes of a slug that a preference names, so that ``preferenceCells`` of them fit into a snapshot's first page.
    public static let slug = 100
    /// Preference cells of a user: with their opt-outs at most 180 kB of a snapshot's first page.
    public static let preferenceCells = 256
    /// Bytes of a project's encoded catalogue, which every user's log gets.
    public static let catalogue = 16 * 1024
    /// Bytes of what comes with a fact.
    public static let factData = 4 * 1024
    /// Bytes of a push token: a Web Push subscription with its keys.
    public static let token = 4 * 1024
    /// The push services that a token can be of.
    public static let platforms: Set<String> = ["apns", "fcm", "web"]
    /// Devices of a user, as the interests surface has it.
    public static let devicesPerUser = 100
    /// Entries that a log keeps at most, but for what cursors hold back (docs/sync.md section 8).
    public static let logEntries: Int64 = 100_000
    /// How long a log keeps an entry, likewise, in milliseconds: 90 days (docs/sync.md section 8).
    public static let logAge: Milliseconds = 90 * 86_400_000
    /// How long a durable cursor holds the log back, in milliseconds: 30 days (docs/sync.md section 8).
    public static let cursorAge: Milliseconds = 30 * 86_400_000
    /// From one round of trimming to the next, in milliseconds: an hour, which is little against every age above.
    public static let trimPeriod: Milliseconds = 3_600_000
    /// How long a settled mutation stays in the replica's journal, in milliseconds: 30 days (docs/sync.md section 8).
    public static let journalAge: Milliseconds = 30 * 86_400_000
    /// How long the hub remembers a uid, in milliseconds: 40 days (docs/sync.md section 4).
    public static let uidAge: Milliseconds = 40 * 86_400_000
    /// Seconds between pings on an idle connection.
    public static let heartbeatSeconds: Int64 = 30

    /// Whether a text can name a category or a channel of a preference: 1 to ``slug`` bytes, no control character.
    public static func isSlug(_ text: String) -> Bool {
        let bytes = text.utf8
        return !bytes.isEmpty && bytes.count <= slug && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Whether a name is an interest: 1 to 164 of `a–z A–Z 0–9 _ - = @ , . ;` (the interests surface's rule).
    public static func isInterest(_ name: String) -> Bool {
        let bytes = name.utf8
        guard !bytes.isEmpty, bytes.count <= interest else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "="), UInt8(ascii: "@"), UInt8(ascii: ","),
                UInt8(ascii: "."), UInt8(ascii: ";"):
                true
            default: false
            }
        }
    }
}
