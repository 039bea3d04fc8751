internal import PealModel

/// A name that is no interest: an interest is 1 to 164 of `a-z A-Z 0-9 _ - = @ , . ;` (docs/sync.md section 5).
public struct InvalidInterestError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The name.
    public let interest: String

    /// An error about a name.
    public init(interest: String) { self.interest = interest }

    /// A sentence that names the rule.
    public var description: String {
        "this is no interest: one is 1 to \(Limits.interest) of a-z A-Z 0-9 _ - = @ , . ;"
    }
}

/// Names of a set that are no interests; nothing of the set was taken.
public struct MultipleInvalidInterestsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Exactly those that are none, in the order in which they were given.
    public let invalidInterests: [String]

    /// An error about names.
    public init(invalidInterests: [String]) { self.invalidInterests = invalidInterests }

    /// A sentence that names the rule.
    public var description: String {
        "\(invalidInterests.count) of these are no interests: one is 1 to \(Limits.interest) of a-z A-Z 0-9 _ - = @ , . ;"
    }
}

/// Told when the device's interests change, whoever changed them: in the client's ``CallbackContext``, only for a real change.
public protocol InterestsChangedDelegate: AnyObject {
    /// The interests are these now, sorted.
    func interestsSetOnDeviceDidChange(interests: [String])
}
