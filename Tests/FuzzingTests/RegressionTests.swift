import Fuzzing
import Testing

/// Inputs that a fuzzer found, each with what it broke then (docs/fuzzing.md).
@Suite struct RegressionTests {
    struct Found: Sendable, CustomTestStringConvertible {
        var target: FuzzTarget
        var what: String
        var bytes: [UInt8]

        init(_ target: FuzzTarget, _ what: String, _ bytes: [UInt8]) {
            self.target = target
            self.what = what
            self.bytes = bytes
        }

        init(_ target: FuzzTarget, _ what: String, _ text: String) { self.init(target, what, Array(text.utf8)) }

        var testDescription: String { "\(target.name): \(what)" }
    }

    @Test(arguments: [
        Found(.outbox, "a damaged time of the replica's row overflows at a hello", [0x0F, 0x00, 0x16, 0x01, 0x06]),
        Found(
            .sessions, "an act that ends its device in the push of another leaves that one waiting for ever",
            [0x61, 0x67, 0x65, 0x5F, 0x0D, 0x04, 0x00, 0x17, 0x00]),
        Found(
            .frames, "the quick way takes the second of two times",
            #"{"kind":"item","time":1,"time":2,"id":"00000000-0000-7000-8000-000000000001","publish":"p","body":{"sent":1}}"#
        ),
        Found(
            .frames, "the quick way takes an item whose title is a number",
            #"{"kind":"item","time":1,"id":"00000000-0000-7000-8000-000000000001","publish":"p","body":{"sent":1,"title":2}}"#
        ),
    ])
    func `an input that broke something once breaks nothing now`(found: Found) {
        #expect(found.target.run(found.bytes) == nil)
    }
}
