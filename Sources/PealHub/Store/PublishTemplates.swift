package import PealModel

/// Which of a publish's interests a device has: a bit each, in the order of their names.
package struct MatchedInterests: Hashable, Comparable, Sendable {
    package private(set) var low: UInt64
    package private(set) var high: UInt64

    /// None, as in a user's inbox.
    package static let none = MatchedInterests(low: 0, high: 0)

    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// The one at an index.
    package init(_ index: Int) {
        precondition(index < 128, "a publish names at most \(Limits.interestsPerPublish) interests")
        self.init(low: index < 64 ? 1 << index : 0, high: index < 64 ? 0 : 1 << (index - 64))
    }

    package mutating func formUnion(_ other: MatchedInterests) {
        low |= other.low
        high |= other.high
    }

    package func contains(_ index: Int) -> Bool { (index < 64 ? low >> index : high >> (index - 64)) & 1 == 1 }

    package static func < (left: MatchedInterests, right: MatchedInterests) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

/// The entries of a publish's items: alike for all devices of which the same interests matched. An item names these and no others, so that a
/// device learns of no interest that it has not.
package struct PublishTemplates {
    private let time: Milliseconds
    private let publish: String
    private let body: ItemBody
    private var made: [MatchedInterests: ItemTemplate] = [:]
    /// Each once, sorted byte by byte.
    package var interests: [String] { body.interests }

    /// The templates of a publish that is delivered now.
    ///
    /// - Throws: ``HubStoreError``: `tooLarge` where the item could not be delivered; what names interests comes on top of the limit.
    package init(_ request: PublishRequest, now: Milliseconds) throws(HubStoreError) {
        var body = request.body
        body.interests = Self.sorted(request.interests)
        self.init(time: now, publish: request.name, body: body)
        var all = MatchedInterests.none
        for index in interests.indices { all.formUnion(MatchedInterests(index)) }
        let added = interests.isEmpty ? 0 : #","interests":"#.utf8.count + ItemBody.text(interests).count
        try PublishRequest.check(template(all).count - added)
    }

    /// The templates of a job whose ``body`` was kept.
    ///
    /// - Throws: ``HubStoreError``: `corrupt`.
    package init(time: Milliseconds, publish: String, body: [UInt8]) throws(HubStoreError) {
        do throws(JSONError) {
            self.init(time: time, publish: publish, body: try ItemBody(JSONObject(body[...])))
        } catch {
            throw HubStoreError(.corrupt, "a wide publish cannot be read: \(error.reason)", underlying: error)
        }
    }

    private init(time: Milliseconds, publish: String, body: ItemBody) {
        self.time = time
        self.publish = publish
        self.body = body
    }

    /// What a job keeps: the item with all interests of the publish.
    package var bytes: [UInt8] { body.bytes }

    /// The template for devices of which these matched.
    package mutating func template(_ matched: MatchedInterests) -> ItemTemplate {
        if let template = made[matched] { return template }
        let template = ItemTemplate(time: time, publish: publish, body: item(matched).bytes)
        made[matched] = template
        return template
    }

    /// Appends an item to each log, in the order of the targets, those of the same interests at once.
    mutating func append(
        to targets: ArraySlice<PublishTarget>,
        by append: (ItemTemplate, [LogTail]) throws(HubStoreError) -> [Appended]
    ) throws(HubStoreError) -> [Appended] {
        var appended: [Appended] = []
        appended.reserveCapacity(targets.count)
        var rest = targets
        while let matched = rest.first?.matched {
            let alike = rest.prefix { $0.matched == matched }
            rest = rest.dropFirst(alike.count)
            appended += try append(template(matched), alike.map(\.tail))
        }
        return appended
    }

    /// The item for devices of which these matched.
    package func item(_ matched: MatchedInterests) -> ItemBody {
        var item = body
        item.interests = body.interests.indices.filter(matched.contains).map { body.interests[$0] }
        return item
    }

    /// As often as a name stands there, it is one interest.
    private static func sorted(_ names: [String]) -> [String] {
        names.count < 2
            ? names : Set(names.map { Array($0.utf8) }).map { String(decoding: $0, as: UTF8.self) }.sorted(by: precedes)
    }

    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}

/// A log that a publish goes to.
struct PublishTarget {
    var tail: LogTail
    var matched = MatchedInterests.none
}
