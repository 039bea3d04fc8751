import PealModel

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A time in the local zone, as short as a list wants it.
enum ViewerTime {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Of today the time, of this year the day, else the year; at most six columns.
    static func short(_ milliseconds: Milliseconds, now: Milliseconds) -> String {
        let time = parts(milliseconds)
        let today = parts(now)
        if time.tm_year == today.tm_year, time.tm_yday == today.tm_yday {
            return two(time.tm_hour) + ":" + two(time.tm_min)
        }
        if time.tm_year == today.tm_year {
            return two(time.tm_mday) + " " + months[Int(min(max(time.tm_mon, 0), 11))]
        }
        return String(1_900 + Int(time.tm_year))
    }

    private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func parts(_ milliseconds: Milliseconds) -> tm {
        var seconds = time_t(milliseconds / 1_000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return parts
    }
}
