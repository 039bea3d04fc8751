import PealModel
import Testing

@testable import PealHub

/// Checks a refusal of the inbox surface: status, shape, code.
func expectInbox(
    _ answer: RawHTTPResponse, _ status: Int, _ code: String, says words: String = "",
    location: SourceLocation = #_sourceLocation
) {
    #expect(answer.status == status, "\(answer.text)", sourceLocation: location)
    #expect(answer.members == ["errors"], sourceLocation: location)
    let errors = answer.json["errors"]?.arrayValue ?? []
    #expect(errors.count == 1, sourceLocation: location)
    #expect(errors.first?["code"]?.stringValue == code, "\(answer.text)", sourceLocation: location)
    let message = errors.first?["message"]?.stringValue ?? ""
    #expect(!message.isEmpty && message.contains(words), "\(message)", sourceLocation: location)
}

@Suite struct HubSendTests {
    static let recipients = #""recipients":[{"external_id":"mary","email":"Mary@Example.org"}]"#

    @Test func `a notification is sent with 201, and the answer shows it`() throws {
        let hub = try TestHub()
        let body = """
            {"notification":{"title":"Title","content":"Text","action_url":"https://example.org/a","category":"orders",\
            "topic":"order:1","custom_attributes":{"n":1.50},\(Self.recipients)}}
            """
        let answer = try hub.client().post("/notifications", body, headers: hub.admin)
        #expect(answer.status == 201)
        let sent = try #require(answer.json["notification"])
        #expect(
            sent.objectValue?.map(\.key) == [
                "id", "title", "content", "action_url", "category", "topic", "custom_attributes", "sent_at",
            ])
        #expect(sent["id"]?.stringValue?.isEmpty == false)
        #expect(sent["title"]?.stringValue == "Title")
        #expect(sent["custom_attributes"] == .object([("n", .number("1.50"))]))
        let time = try #require(sent["sent_at"]?.intValue)
        #expect((1_600_000_000...4_000_000_000).contains(time))
    }

    @Test func `what is left out is null in the answer`() throws {
        let hub = try TestHub()
        let body = #"{"notification":{"title":"Title","content":null,\#(Self.recipients)}}"#
        let sent = try hub.client().post("/notifications", body, headers: hub.admin).json["notification"]
        for key in ["content", "action_url", "category", "topic"] { #expect(sent?[key] == .null) }
        #expect(sent?["custom_attributes"] == .object([]))
    }

    @Test func `sending needs the key and the secret`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        let body = #"{"notification":{"title":"Title",\#(Self.recipients)}}"#
        let key = "X-MAGICBELL-API-KEY: \(hub.project.apiKey)\r\n"
        expectInbox(try client.post("/notifications", body, headers: ""), 401, "api_key_not_provided")
        for wrong in ["x", hub.project.instance, hub.project.apiKey.uppercased() + "0"] {
            expectInbox(
                try client.post("/notifications", body, headers: "X-MAGICBELL-API-KEY: \(wrong)\r\n"), 401,
                "incorrect_api_key")
        }
        expectInbox(try client.post("/notifications", body, headers: key), 401, "api_secret_not_provided")
        expectInbox(
            try client.post("/notifications", body, headers: key + "X-MAGICBELL-API-SECRET: x\r\n"), 401,
            "api_secret_is_incorrect")
        let proof = key + "X-MAGICBELL-USER-EXTERNAL-ID: mary\r\nX-MAGICBELL-USER-HMAC: \(hub.hmac("mary"))\r\n"
        expectInbox(try client.post("/notifications", body, headers: proof), 401, "api_secret_not_provided")
    }

    @Test func `a body that is not JSON is 400, another shape 422`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        for body in ["", "{", "nonsense"] {
            expectInbox(try client.post("/notifications", body, headers: hub.admin), 400, "bad_json")
        }
        for body in ["[]", "{}", #"{"notification":[]}"#, #"{"notification":"x"}"#, #"{"notification":null}"#] {
            expectInbox(
                try client.post("/notifications", body, headers: hub.admin), 422, "unprocessable_entity",
                says: "'notification'")
        }
    }

    @Test(arguments: [
        (#""title":"""#, "'title'"), (#""title":null"#, "'title'"), (#""title":1"#, "'title'"),
        (#""content":"x""#, "'title'"), (#""title":"T","content":7"#, "'content'"),
        (#""title":"T","action_url":[]"#, "'action_url'"), (#""title":"T","category":{}"#, "'category'"),
        (#""title":"T","topic":true"#, "'topic'"), (#""title":"T","custom_attributes":[]"#, "'custom_attributes'"),
        (#""title":"T","custom_attributes":"x""#, "'custom_attributes'"),
    ])
    func `a wrong member is 422 and named`(members: String, name: String) throws {
        let hub = try TestHub()
        let body = #"{"notification":{\#(members),\#(Self.recipients)}}"#
        expectInbox(
            try hub.client().post("/notifications", body, headers: hub.admin), 422, "unprocessable_entity", says: name)
    }

    @Test(arguments: [("title", 255), ("category", 100), ("topic", 100), ("action_url", 2_048)])
    func `a text may have so many characters and not one more`(name: String, limit: Int) throws {
        let hub = try TestHub()
        let client = try hub.client()
        for (count, status) in [(limit, 201), (limit + 1, 422)] {
            let text = String(repeating: "é", count: count)
            let title = name == "title" ? "" : #""title":"T","#
            let body = #"{"notification":{\#(title)"\#(name)":"\#(text)",\#(Self.recipients)}}"#
            let answer = try client.post("/notifications", body, headers: hub.admin)
            #expect(answer.status == status, "\(count): \(answer.text)")
            if status == 422 { expectInbox(answer, 422, "unprocessable_entity", says: "'\(name)'") }
        }
    }

    @Test func `an item over 16 KiB, or attributes over 6 KiB, are 422`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        let text = String(repeating: "x", count: 16 * 1024)
        let content = #"{"notification":{"title":"T","content":"\#(text)",\#(Self.recipients)}}"#
        expectInbox(
            try client.post("/notifications", content, headers: hub.admin), 422, "unprocessable_entity", says: "16384")
        let attribute = String(repeating: "x", count: 6 * 1024)
        let attributes =
            #"{"notification":{"title":"T","custom_attributes":{"a":"\#(attribute)"},\#(Self.recipients)}}"#
        expectInbox(
            try client.post("/notifications", attributes, headers: hub.admin), 422, "unprocessable_entity",
            says: "'custom_attributes'")
    }

    @Test func `there are 1 to 1,000 recipients, each with an identity`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        func send(_ recipients: String) throws -> RawHTTPResponse {
            try client.post(
                "/notifications", #"{"notification":{"title":"T","recipients":\#(recipients)}}"#, headers: hub.admin)
        }
        let many = (0...1_000).map { #"{"external_id":"u\#($0)"}"# }
        let long = String(repeating: "u", count: 256)
        for list in [
            "null", "{}", "[]", "[1]", "[{}]", #"[{"external_id":""}]"#, #"[{"email":null}]"#, #"[{"email":1}]"#,
            #"[{"external_id":"\#(long)"}]"#, #"[{"external_id":"a","first_name":"\#(long)"}]"#,
            "[\(many.joined(separator: ","))]",
        ] {
            expectInbox(try send(list), 422, "unprocessable_entity", says: "'")
        }
        #expect(try send("[\(many.dropLast().joined(separator: ","))]").status == 201)
    }

    @Test func `an email and an external id of different users are 409, and nothing is sent`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        func send(_ recipients: String) throws -> RawHTTPResponse {
            try client.post(
                "/notifications", #"{"notification":{"title":"T","recipients":\#(recipients)}}"#, headers: hub.admin)
        }
        #expect(try send(#"[{"external_id":"a"},{"email":"b@example.org"}]"#).status == 201)
        expectInbox(
            try send(#"[{"external_id":"a","email":"b@example.org"}]"#), 409, "conflict", says: "user")
        #expect(try client.get("/notifications", headers: hub.user("a")).json["total"]?.intValue == 1)
    }

    @Test func `an unknown path and a wrong method have the inbox surface's shape`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        expectInbox(try client.get("/nothing"), 404, "not_found")
        let answer = try client.request("DELETE", "/notifications", headers: hub.admin)
        expectInbox(answer, 405, "method_not_allowed")
        #expect(answer["Allow"] == "GET, HEAD, POST")
    }
}
