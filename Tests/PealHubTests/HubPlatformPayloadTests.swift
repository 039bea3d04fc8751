import PealModel
import Testing

@testable import PealHub

@Suite struct HubPlatformPayloadTests {
    private func item(_ platforms: String) throws -> ItemBody {
        let members = try #require(try JSON(Array(platforms.utf8)[...]).objectValue)
        return try PlatformPayload(members).body(now: 1_000)
    }

    @Test func `an alert may be a string or an object`() throws {
        let text = try item(#"{"apns":{"aps":{"alert":"Hello"}}}"#)
        #expect(text.title == "Hello" && text.content == nil && !text.silent)
        let object = try item(#"{"apns":{"aps":{"alert":{"title":"T","body":"B"}}}}"#)
        #expect(object.title == "T" && object.content == "B")
    }

    @Test func `apns comes before web, and web before fcm`() throws {
        let web = #""web":{"notification":{"title":"W","deep_link":"https://example.org/w"}}"#
        let fcm = #""fcm":{"notification":{"title":"F"}}"#
        #expect(try item(#"{"apns":{"aps":{"alert":"A"}},\#(fcm),\#(web)}"#).title == "A")
        let second = try item("{\(fcm),\(web)}")
        #expect(second.title == "W" && second.actionURL == "https://example.org/w")
        #expect(try item("{\(fcm)}").title == "F")
    }

    @Test func `an alert of null does not hide another platform's text`() throws {
        #expect(try item(#"{"apns":{"aps":{"alert":null}},"fcm":{"notification":{"title":"F"}}}"#).title == "F")
    }

    @Test func `a payload without a text is silent, and stays whole`() throws {
        let badge = try item(#"{"apns":{"aps":{"badge":3,"content-available":1}},"fcm":{"data":{"n":1.50}}}"#)
        #expect(badge.silent && badge.title == nil)
        let payload = try #require(badge.payload)
        #expect(
            String(decoding: payload, as: UTF8.self)
                == #"{"apns":{"aps":{"badge":3,"content-available":1}},"fcm":{"data":{"n":1.50}}}"#)
    }

    @Test func `a time to live becomes the expiry`() throws {
        #expect(try item(#"{"web":{"time_to_live":60}}"#).expires == 61_000)
        #expect(try item(#"{"web":{"time_to_live":0}}"#).expires == nil)
    }
}
