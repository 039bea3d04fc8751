import Foundation
import PealModel

/// A time on the command line.
enum TimeArgument {
    /// Milliseconds since 1970 of a date, a date and time in the local zone, or a number of milliseconds; nil for nil.
    static func milliseconds(_ text: String?, _ option: String) throws(CommandError) -> Milliseconds? {
        guard let text else { return nil }
        if let number = Int64(text), number >= 0 { return number }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.isLenient = false
        for format in ["yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-dd'T'HH:mm", "yyyy-MM-dd HH:mm", "yyyy-MM-dd"] {
            formatter.dateFormat = format
            if let date = formatter.date(from: text) { return Milliseconds(date.timeIntervalSince1970 * 1_000) }
        }
        throw .usage("--\(option) takes a time such as 2026-01-31, 2026-01-31T18:00, or milliseconds since 1970.")
    }
}
