/// The kinds of notifications that come with Peal. The set is open: a publisher may use any word of its own, and
/// ``DeliveredNotification/type`` is that word.
public enum NotificationType {
    /// A title and a text; what a publish without a type is.
    public static let message = "message"
    /// Questions, which ``PealClient/answer(_:with:)`` answers.
    public static let survey = "survey"
    /// A film, at ``DeliveredNotification/mediaURL``.
    public static let video = "video"
    /// A picture, at ``DeliveredNotification/mediaURL``.
    public static let image = "image"
    /// A sound, at ``DeliveredNotification/mediaURL``.
    public static let audio = "audio"
}
