import PealModel
import Testing

private func value(_ text: String) -> JSON? { try? JSON(raw(text)) }
private func value(_ bytes: [UInt8]) -> JSON? { try? JSON(bytes[...]) }

@Test(arguments: [
    ("null", JSON.null), (" true ", .bool(true)), ("\t\r\nfalse\n", .bool(false)), ("0", .number("0")),
    ("-0", .number("-0")), ("-0.0e-0", .number("-0.0e-0")), ("123", .number("123")), ("1.5", .number("1.5")),
    ("1e5", .number("1e5")), ("1E+5", .number("1E+5")), ("1.25e-7", .number("1.25e-7")), ("\"\"", .string("")),
    (#""a\"b\\c\/d""#, .string(#"a"b\c/d"#)), (#""\b\f\n\r\t""#, .string("\u{8}\u{c}\n\r\t")),
    (#""\u0041\u00e9\u20AC""#, .string("Aé€")), (#""\ud83d\ude00""#, .string("😀")), ("\"😀 é €\"", .string("😀 é €")),
    (#""\u0000""#, .string("\0")), ("\"\u{7f}\"", .string("\u{7f}")), ("[]", .array([])), ("{}", .object([])),
    ("[ ]", .array([])), ("{ }", .object([])),
    ("[1,[2,[]],{}]", .array([.number("1"), .array([.number("2"), .array([])]), .object([])])),
    (#" { "a" : 1 , "b" : [ null ] } "#, .object([("a", .number("1")), ("b", .array([.null]))])),
    (#"{"":1}"#, .object([("", .number("1"))])),
])
func `these texts are JSON`(_ text: String, _ expected: JSON) throws {
    #expect(try JSON(raw(text)) == expected)
}

@Test(arguments: [
    "", " ", "nul", "nulll", "True", "TRUE", "undefined", "NaN", "Infinity", "-Infinity", "+1", "01", "-01", "-", "1.",
    ".5", "1.e5", "1e", "1e+", "0x10", "1_000", "1 2", "--1", "1,", ",1", "\"", "\"abc", #""\"#, #""\x41""#, #""\u12""#,
    #""\u12G4""#, #""\u""#, #""\ud83d""#, #""\ud83dx""#, #""\ud83d\n""#, #""\ud83d\u0041""#, #""\ude00""#,
    #""\ude00\ud83d""#, "\"\n\"", "\"\t\"", "\"\0\"", "'a'", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1,,2]",
    "{", "}", "{1:2}", "{a:1}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{"a":1 "b":2}"#, #"{"a":1]"#,
    #"{"a" 1}"#, "[}", "{]", "// x\n1", "/* x */1", "1 // x", "\u{feff}1", "\u{a0}1", "1\u{c}",
])
func `these texts are not JSON`(_ text: String) {
    #expect(value(text) == nil)
    #expect((try? JSONObject(raw(#"{"x":\#(text)}"#))) == nil)
}

@Test(
    arguments: [
        [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
        [0xE2, 0x82],
        [0xE2, 0x28, 0xA1], [0xE2, 0x82, 0x28], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80],
        [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF0, 0x9F, 0x98, 0x28], [0xF4, 0x90, 0x80, 0x80],
        [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF],
    ] as [[UInt8]])
func `a string that is not valid UTF-8 is refused`(_ bytes: [UInt8]) {
    #expect(value([0x22] + bytes + [0x22]) == nil)
    #expect(value([0x7B, 0x22] + bytes + [0x22, 0x3A, 0x31, 0x7D]) == nil)
    #expect(value(bytes) == nil)
}

@Test(arguments: [0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x10FFFF] as [UInt32])
func `the first and the last scalar of each length are accepted, raw and escaped`(_ scalar: UInt32) throws {
    let text = String(UnicodeScalar(scalar)!)
    #expect(try JSON(raw("\"\(text)\"")) == .string(text))
    let escaped = text.utf16.map {
        "\\u" + String(repeating: "0", count: 4 - String($0, radix: 16).count) + String($0, radix: 16)
    }
    #expect(try JSON(raw("\"\(escaped.joined())\"")) == .string(text))
}

@Test func `a byte that ends or spoils a string is seen at every place of it`() throws {
    for length in 0..<26 {
        for place in 0..<length {
            for byte in 0...0xFF as ClosedRange<UInt8> {
                var content = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                content[place] = byte
                let text = value([0x20, 0x22] + content + [0x22])
                if byte < 0x20 || byte >= 0x80 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                    #expect(text == nil, "\(byte) at \(place) of \(length)")
                } else {
                    #expect(
                        text == .string(String(decoding: content, as: UTF8.self)), "\(byte) at \(place) of \(length)")
                }
            }
        }
    }
}

@Test func `sixty-four levels are read, and the sixty-fifth is refused`() throws {
    func arrays(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    func objects(_ depth: Int) -> String {
        String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
    }
    #expect(value(arrays(64)) != nil)
    #expect(value(arrays(65)) == nil)
    #expect(value(objects(64)) != nil)
    #expect(value(objects(65)) == nil)
    #expect((try? JSONObject(raw(objects(64)))) != nil)
    #expect((try? JSONObject(raw(objects(65)))) == nil)
    #expect((try? JSONObject(raw(#"{"a":\#(arrays(63))}"#))) != nil)
    #expect((try? JSONObject(raw(#"{"a":\#(arrays(64))}"#))) == nil)
    // A hundred thousand levels end in an error and not in a broken stack.
    #expect(value(arrays(100_000)) == nil)
    #expect(value(String(repeating: "[", count: 100_000)) == nil)
}

@Test func `a number keeps its spelling, and an integer has 64 bits`() throws {
    for (text, int) in [
        ("9223372036854775807", Int64.max), ("-9223372036854775808", .min), ("-0", 0), ("7", 7),
    ] as [(String, Int64)] { #expect(JSON.int(of: raw(text)) == int) }
    // A member's have 53, so that nothing that is made of two of them overflows.
    for int in [0, 9_007_199_254_740_991, -9_007_199_254_740_991] as [Int64] {
        #expect(try JSONObject(raw(#"{"n":\#(int)}"#)).int("n") == int)
    }
    for text in ["9007199254740992", "-9007199254740992", "9223372036854775807", "-9223372036854775808"] {
        #expect(throws: JSONError("'n' is no whole number of 53 bits")) {
            try JSONObject(raw(#"{"n":\#(text)}"#)).int("n")
        }
    }
    for text in [
        "9223372036854775808", "-9223372036854775809", "99999999999999999999999999", "1.0", "1e3", "1E400", "-1.5e9",
        "true", #""1""#, "[]",
    ] {
        #expect(JSON.int(of: raw(text)) == nil)
        #expect(throws: JSONError("'n' is no whole number of 53 bits")) {
            try JSONObject(raw(#"{"n":\#(text)}"#)).int("n")
        }
    }
    let huge = "-123456789012345678901234567890.5e+99999"
    #expect(String(decoding: try JSON(raw("[\(huge)]")).bytes, as: UTF8.self) == "[\(huge)]")
}

@Test func `the first of two equal keys counts, however it is spelled`() throws {
    let text = raw(#"{"a":1,"a":2,"\u0061":3,"b":4}"#)
    #expect(try JSON(text) == .object([("a", .number("1")), ("b", .number("4"))]))
    #expect(try JSONObject(text).int("a") == 1)
}

@Test func `keys that only look equal are two keys`() throws {
    // Swift compares strings by canonical equivalence, JSON by code points.
    let text = "{\"\u{e9}\":1,\"e\u{301}\":2}"
    #expect(try JSON(raw(text)).bytes == Array(text.utf8))
    #expect(try JSON(raw("\"\u{e9}\"")) != JSON(raw("\"e\u{301}\"")))
}

@Test func `an object with very many members is read in good time`() throws {
    let text = "{" + (0..<40_000).map { "\"\($0)\":0" }.joined(separator: ",") + "}"
    let clock = ContinuousClock()
    var count = 0
    let duration = try clock.measure { count = try JSON(raw(text)).objectValue?.count ?? 0 }
    #expect(count == 40_000)
    #expect(duration < .seconds(5))
}

@Test func `null counts as absent, and a wrong type is an error that names the member`() throws {
    let object = try JSONObject(raw(#"{"s":"x","i":1,"b":true,"o":{},"a":[],"z":null,"f":1.5}"#))
    #expect(try object.string("z") == nil)
    #expect(try object.string("missing") == nil)
    #expect(object.raw("z") == nil)
    #expect(throws: JSONError("'i' is not a string")) { try object.string("i") }
    #expect(throws: JSONError("'s' is no whole number of 53 bits")) { try object.int("s") }
    #expect(throws: JSONError("'i' is neither true nor false")) { try object.bool("i") }
    #expect(throws: JSONError("'a' is not an object")) { try object.object("a") }
    #expect(throws: JSONError("'o' is not an array")) { try object.array("o") }
    #expect(throws: JSONError("'z' is missing")) { try object.required("z", object.int("z")) }
}

@Test func `an object in the middle of a message reads as it does alone`() throws {
    let message = raw(#"xx {"a":"\n","b":[1,"]"],"c":{"d":2}} yy"#)
    let object = try JSONObject(message[2..<(message.count - 2)])
    #expect(object.keys == ["a", "b", "c"])
    #expect(try object.string("a") == "\n")
    #expect(try object.array("b")?.map { Array($0) } == [Array("1".utf8), Array(#""]""#.utf8)])
    #expect(try object.object("c")?.int("d") == 2)
    #expect(Array(object.raw) == Array(message[3..<(message.count - 3)]))
}

@Test func `an error holds nothing of the input`() {
    let errors = ["{\"secret\":bad}", "{\"secret\":\"\u{1}\"}", "{\"secret\":\"\\q\"}", "{\"secret\" 1}"].map { text in
        #expect(throws: JSONError.self) { try JSONObject(raw(text)) }
    }
    for error in errors { #expect(error.map { !$0.description.contains("secret") } == true) }
}

@Test func `a string is written with the escapes that are needed and no other`() {
    var writer = JSONWriter()
    writer.string("\"\\/\u{8}\u{c}\n\r\t\u{0}\u{1f}\u{7f}é😀\u{2028}")
    #expect(
        String(decoding: writer.bytes, as: UTF8.self)
            == #""\"\\/\u0008\u000c\n\r\t\u0000\u001f"# + "\u{7f}é😀\u{2028}\"")
}

@Test func `reading of raw bytes that nobody has validated never traps`() {
    let texts = [
        "", "\"", "\"\"", #""\"#, #""\ud83d"#, #""\ud83d\u0041""#, #""\ud83d""#, #""\u12""#, #""\ud83dxx"#, "[", "[1",
        "[1,", "[]]",
        "[1 2]", "-", "--", "{", "x",
    ]
    for text in texts {
        _ = JSON.string(of: raw(text))
        _ = JSON.int(of: raw(text))
        _ = JSON.elements(of: raw(text))
    }
}
