import PealModel
import Testing

@testable import PealHub

@Suite struct HubLogTests {
    private let record = HubLogRecord(
        .warning, "a line\nof two", ["name": "with space", "bare": "x", "empty": "", "q": "\"=\""])

    @Test func `a record is one line in each format`() throws {
        #expect(
            record.line(.text, time: 1_700_000_000_007)
                == "2023-11-14T22:13:20.007Z warning: a line of two name=\"with space\" bare=x empty=\"\" q=\"'='\"")
        #expect(record.line(.journald, time: 0) == "<4>a line of two name=\"with space\" bare=x empty=\"\" q=\"'='\"")
        let line = record.line(.json, time: 1_700_000_000_007)
        let json = try JSON(Array(line.utf8)[...])
        #expect(json["time"]?.stringValue == "2023-11-14T22:13:20.007Z" && json["level"]?.stringValue == "warning")
        #expect(json["message"]?.stringValue == "a line\nof two" && json["name"]?.stringValue == "with space")
        #expect(!line.contains("\n"))
    }

    @Test func `levels are syslog's priorities and have names`() {
        #expect(HubLogLevel.allCases.map(\.rawValue) == [3, 4, 5, 6, 7])
        for level in HubLogLevel.allCases { #expect(HubLogLevel(name: level.name) == level) }
        #expect(HubLogLevel(name: "loud") == nil && HubLogLevel.error < .debug)
    }

    @Test func `each request is a line with its route, status and the id that the answer has`() throws {
        let hub = try TestHub { $0.logLevel = .info }
        let answer = try hub.client().request(
            "POST", "/notifications/an-item/read", headers: "X-Request-Id: my.id-1_2\r\n", body: [])
        #expect(answer.status == 401 && answer["X-Request-Id"] == "my.id-1_2")
        let line = try #require(hub.log.lines.last)
        #expect(
            line.hasPrefix("request request=my.id-1_2 method=POST route=/notifications/{id}/read status=401 bytes="))
        #expect(line.hasSuffix(" peer=127.0.0.1"))
    }

    @Test(arguments: ["", "a b", String(repeating: "a", count: 65), "é", "a;b", "<x>"])
    func `an id that is no short word is replaced`(id: String) throws {
        let hub = try TestHub { $0.logLevel = .info }
        let answer = try hub.client().get("/healthz", headers: "X-Request-Id: \(id)\r\n")
        let made = try #require(answer["X-Request-Id"])
        #expect(made != id && made.utf8.count == 16 && HTTPRequestID.isSane(made))
        #expect(hub.log.lines.last?.contains("request=\(made) ") == true)
    }

    @Test func `two requests have two ids, errors that nobody handled too`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        let ids = try ["/healthz", "/healthz", "/v1/%zz"].map { try client.get($0)["X-Request-Id"] }
        #expect(Set(ids).count == 3 && !ids.contains(nil))
    }

    @Test func `requests are not logged unless that is wanted`() throws {
        let hub = try TestHub()
        _ = try hub.client().get("/healthz")
        #expect(hub.log.lines.isEmpty)
    }
}
