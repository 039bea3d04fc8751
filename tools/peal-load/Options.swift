import Foundation
import PealModel
import PealReplica

/// What the command line says.
struct Options {
    static let usage = """
        usage: peal-load act  --hub URL --key KEY (--user ID | --device) --directory DIR [--seed N] [--pause MS] [--interest NAME]
               peal-load view --file FILE [--seed N] [--pause MS]
               peal-load dump --file FILE

        """

    var mode = ""
    var hub = "http://127.0.0.1:8080"
    var key = ""
    /// nil for the device's own inbox.
    var user: String?
    var directory = "."
    var path = ""
    var seed: UInt64 = 1
    /// The mean of the pauses between acts or reads, in milliseconds.
    var pause = 50
    var interest: String?

    init?(_ words: [String]) {
        guard let mode = words.first, ["act", "view", "dump"].contains(mode) else { return nil }
        self.mode = mode
        var rest = words.dropFirst()
        while let name = rest.popFirst() {
            if name == "--device" { continue }
            guard let value = rest.popFirst() else { return nil }
            switch name {
            case "--hub": hub = value
            case "--key": key = value
            case "--user": user = value
            case "--directory": directory = value
            case "--file": path = value
            case "--seed": seed = UInt64(value) ?? 1
            case "--pause": pause = max(Int(value) ?? 50, 1)
            case "--interest": interest = value
            default: return nil
            }
        }
    }
}

/// Lines on standard output, each written whole before the call returns.
enum Lines {
    typealias Numbers = KeyValuePairs<StaticString, Int64>
    typealias Texts = KeyValuePairs<StaticString, String>

    static func write(_ kind: String, _ numbers: Numbers, _ texts: Texts = [:], page: DeliveredPage? = nil) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("k", kind)
        for (name, value) in numbers { writer.member(name, value) }
        for (name, value) in texts { writer.member(name, value) }
        if let page { write(page, to: &writer) }
        writer.endObject()
        FileHandle.standardOutput.write(Data(writer.bytes + [0x0A]))
    }

    /// The position that the page is of, and each item's number and flags (1 read, 2 seen, 4 archived).
    private static func write(_ page: DeliveredPage, to writer: inout JSONWriter) {
        writer.member("at", page.view.position)
        writer.key("items")
        writer.beginArray()
        for item in page.items {
            writer.int(item.number)
            writer.int((item.read ? 1 : 0) + (item.seen ? 2 : 0) + (item.archived ? 4 : 0))
        }
        writer.endArray()
    }
}

/// Microseconds since 1970: the processes of one machine share the clock, so that their lines can be put in order.
func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
}
