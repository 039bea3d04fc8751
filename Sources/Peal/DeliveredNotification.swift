public import Foundation
public import PealModel
internal import PealReplica

/// A notification as an app shows it: what was published, when it was delivered, and where it stands. A value: an act on it gives a new one.
public struct DeliveredNotification: Identifiable, Equatable, Sendable {
    /// The hub's id.
    public let id: ItemID
    /// Its place in its inbox: the integer that a push carries as `message_response_id`.
    public let number: Int
    /// The publish that it came from: the same in every inbox that got it.
    public let publish: String
    /// ``NotificationType`` has the known ones: `message`, `survey`, `video`, `image`, `audio`; else the app's own word.
    public let type: String
    /// Nil for a platform payload without one.
    public let title: String?
    /// The text.
    public let content: String?
    /// When the hub delivered it into the inbox.
    public let notificationDeliveryDate: Date
    /// When it was sent.
    public let sentDate: Date
    /// When it expires; nil for never.
    public let expiryDate: Date?
    /// The slug of its category.
    public let category: String?
    /// Its topic, such as `order:42`.
    public let topic: String?
    /// Which of this device's interests it was published to; none where it came to a user.
    public let interests: [String]
    /// Where a tap leads, as the publisher wrote it.
    public let actionURL: String?
    /// A picture, film or sound.
    public let mediaURL: String?
    /// Whether it is read.
    public let isRead: Bool
    /// Whether it is seen; what is read is seen.
    public let isSeen: Bool
    /// Whether it is archived.
    public let isArchived: Bool
    /// Whose inbox it came to.
    public let inbox: InboxIdentity
    private let attributes: RawJSON?
    private let platform: RawJSON?

    /// The publisher's custom attributes; nil where there are none. Decoded at each call.
    public var customAttributes: JSON? { attributes.flatMap { try? JSON($0) } }
    /// The platform objects of the publish (`apns`, `fcm`, `web`); nil where there are none. Decoded at each call.
    public var payload: JSON? { platform.flatMap { try? JSON($0) } }

    /// Of a survey what is asked: the custom attribute `questions`, in the publisher's own shape; nil where there is none.
    /// ``PealClient/answer(_:with:)`` gives an answer back.
    public var questions: JSON? { customAttributes?["questions"] }

    init(_ item: DeliveredItem, in inbox: InboxIdentity) {
        // The hub has checked it; should one be broken all the same, the item is listed without its words.
        let body = (try? item.decodeBody()) ?? ItemBody(title: nil, sent: item.sent)
        func date(_ time: Milliseconds) -> Date { Date(timeIntervalSince1970: Double(time) / 1_000) }
        id = item.id
        number = Int(item.number)
        publish = item.publish
        type = item.type
        title = body.title
        content = body.content
        notificationDeliveryDate = date(item.time)
        sentDate = date(item.sent)
        expiryDate = item.expires.map(date)
        category = item.category
        topic = item.topic
        interests = body.interests
        actionURL = body.actionURL
        mediaURL = body.media
        isRead = item.read
        isSeen = item.seen
        isArchived = item.archived
        self.inbox = inbox
        attributes = body.attributes
        platform = body.payload
    }

    /// In the place of one that is not there any more: nobody's number, no words.
    static func gone(from inbox: InboxIdentity) -> DeliveredNotification { DeliveredNotification(gone: inbox) }

    private init(gone inbox: InboxIdentity) {
        id = ItemID(time: 0, counter: 0, random: 0)
        number = 0
        publish = ""
        type = "message"
        interests = []
        (title, content, category, topic, actionURL, mediaURL) = (nil, nil, nil, nil, nil, nil)
        (notificationDeliveryDate, sentDate, expiryDate) = (.distantPast, .distantPast, nil)
        (isRead, isSeen, isArchived) = (true, true, false)
        self.inbox = inbox
        (attributes, platform) = (nil, nil)
    }
}
