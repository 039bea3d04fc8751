import PealModel
import Testing

@testable import PealHub

@Suite struct HubPublishTests {
    static let interests = #"{"interests":["apple"],"apns":{"aps":{"alert":{"title":"Title","body":"Body text"}}}}"#
    static let users = #"{"users":["Mary"],"apns":{"aps":{"alert":{"title":"Title","body":"Body text"}}}}"#

    /// Checks a refusal's status and shape.
    private func expect(
        _ answer: RawHTTPResponse, _ status: Int, says words: String = "",
        location: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == status, "\(answer.text)", sourceLocation: location)
        #expect(answer.members == ["error", "description"], sourceLocation: location)
        #expect(answer.json["error"]?.stringValue?.isEmpty == false, sourceLocation: location)
        let description = answer.json["description"]?.stringValue ?? ""
        #expect(!description.isEmpty && description.contains(words), "\(description)", sourceLocation: location)
        #expect(answer["Content-Type"] == "application/json; charset=utf-8", sourceLocation: location)
    }

    @Test(arguments: ["", "interests"])
    func `a publish to interests is answered with exactly 200 and a publish id`(kind: String) throws {
        let hub = try TestHub()
        let answer = try hub.client().post(hub.publishPath(kind), Self.interests, headers: hub.bearer)
        #expect(answer.status == 200)
        #expect(answer.members == ["publishId"])
        let id = try #require(answer.json["publishId"]?.stringValue)
        #expect(id.hasPrefix("pubid-") && id.count == 42)
        #expect(answer["Content-Length"] == "\(answer.body.count)")
    }

    @Test func `a publish to users is answered with exactly 200 and another publish id each time`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        let first = try client.post(hub.publishPath("users"), Self.users, headers: hub.bearer)
        let second = try client.post(hub.publishPath("users"), Self.users, headers: hub.bearer)
        #expect(first.status == 200 && second.status == 200)
        #expect(first.json["publishId"] != second.json["publishId"])
        let list = try client.get("/notifications", headers: hub.user("Mary"))
        #expect(list.json["total"]?.intValue == 2)
    }

    @Test func `a user who is named twice in one publish gets one item`() throws {
        let hub = try TestHub()
        try hub.publish("One", users: ["Mary", "Mary", "Tom"])
        for name in ["Mary", "Tom"] {
            #expect(try hub.client().get("/notifications", headers: hub.user(name)).json["total"]?.intValue == 1)
        }
    }

    @Test func `the media type may carry a charset and the instance id may be upper case`() throws {
        let hub = try TestHub()
        let headers = "Authorization: Bearer \(hub.project.secret)\r\nContent-Type: application/json; charset=utf-8\r\n"
        let path = hub.publishPath("interests", instance: hub.project.instance.uppercased())
        #expect(try hub.client().post(path, Self.interests, headers: headers).status == 200)
    }

    @Test func `a wrong, missing or foreign secret is 401`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        let type = "Content-Type: application/json\r\n"
        let secret = hub.project.secret
        for line in [
            "", "Authorization: Bearer\r\n", "Authorization: Bearer \(secret)0\r\n",
            "Authorization: Bearer \(secret.dropLast())\r\n", "Authorization: Basic \(secret)\r\n",
            "Authorization: \(secret)\r\n", "Authorization: Bearer \(hub.project.apiKey)\r\n",
        ] {
            expect(try client.post(hub.publishPath("users"), Self.users, headers: line + type), 401)
        }
        #expect(try client.post(hub.publishPath("users"), Self.users, headers: hub.bearer).status == 200)
    }

    @Test func `an unknown instance is 404, an API key is none`() throws {
        let hub = try TestHub()
        for name in ["00000000-0000-4000-8000-000000000000", "x", hub.project.apiKey] {
            expect(
                try hub.client().post(hub.publishPath("users", instance: name), Self.users, headers: hub.bearer), 404)
        }
    }

    @Test func `another media type than JSON, or none, is 400`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        for type in ["", "Content-Type: text/plain\r\n", "Content-Type: application/jsonp\r\n"] {
            let headers = "Authorization: Bearer \(hub.project.secret)\r\n" + type
            expect(try client.post(hub.publishPath("users"), Self.users, headers: headers), 400, says: "Content-Type")
        }
    }

    @Test func `a body that is not one JSON object is 400`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        for body in ["", "{", "[]", "null", "\"x\"", Self.users + "x", #"{"users":["\ud800"]}"#, "{\"a\":\"\u{1}\"}"] {
            expect(try client.post(hub.publishPath("users"), body, headers: hub.bearer), 400, says: "JSON")
        }
        let broken = Array(#"{"users":[""#.utf8) + [0xFF] + Array(#""]}"#.utf8)
        expect(try client.request("POST", hub.publishPath("users"), headers: hub.bearer, body: broken), 400)
    }

    @Test func `a body over the limit is 400 and the connection stays usable`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        let filler = String(repeating: "x", count: 10 * 1024)
        let large = #"{"interests":["apple"],"fcm":{"data":{"x":"\#(filler)"}}}"#
        expect(try client.post(hub.publishPath("interests"), large, headers: hub.bearer), 400)
        #expect(try client.post(hub.publishPath("interests"), Self.interests, headers: hub.bearer).status == 200)
        let huge = String(repeating: " ", count: 200 * 1024) + Self.users
        expect(try client.post(hub.publishPath("users"), huge, headers: hub.bearer), 400)
        #expect(try client.post(hub.publishPath("users"), Self.users, headers: hub.bearer).status == 200)
    }

    @Test func `a publish of exactly the limit is taken`() throws {
        let hub = try TestHub()
        let body = Self.interests + String(repeating: " ", count: 10 * 1024 - Self.interests.utf8.count)
        #expect(try hub.client().post(hub.publishPath("interests"), body, headers: hub.bearer).status == 200)
        let long = body + " "
        expect(try hub.client().post(hub.publishPath("interests"), long, headers: hub.bearer), 400)
    }

    @Test func `an interest that breaks the rule is 422`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        let letters = String(repeating: "a", count: 164)
        for name in ["", letters + "a", #"apple\n"#, "¢", "a b", "a/b", #"a\u0000"#, "é"] {
            let body = #"{"interests":["\#(name)"],"apns":{}}"#
            expect(try client.post(hub.publishPath("interests"), body, headers: hub.bearer), 422, says: "interest")
        }
        for name in [letters, "a_-=@,.;Z0"] {
            let body = #"{"interests":["\#(name)"],"apns":{}}"#
            #expect(try client.post(hub.publishPath("interests"), body, headers: hub.bearer).status == 200)
        }
    }

    @Test func `the list of interests holds 1 to 100 strings`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        let many = (0...100).map { "\"i\($0)\"" }
        for list in ["[]", "null", "\"apple\"", "{}", "[1]", "[null]", "[[\"a\"]]", "[\(many.joined(separator: ","))]"]
        {
            let body = #"{"interests":\#(list),"apns":{}}"#
            expect(try client.post(hub.publishPath("interests"), body, headers: hub.bearer), 422, says: "'interests'")
        }
        expect(try client.post(hub.publishPath("interests"), #"{"apns":{}}"#, headers: hub.bearer), 422)
        let most = #"{"interests":[\#(many.dropLast().joined(separator: ","))],"apns":{}}"#
        #expect(try client.post(hub.publishPath("interests"), most, headers: hub.bearer).status == 200)
    }

    @Test func `a user id has 1 to 164 characters, and 1 to 1,000 of them may be named`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        for name in ["", String(repeating: "u", count: 165)] {
            let body = #"{"users":["\#(name)"],"apns":{}}"#
            expect(try client.post(hub.publishPath("users"), body, headers: hub.bearer), 422, says: "user id")
        }
        let many = (0...1_000).map { "\"u\($0)\"" }
        for list in ["[]", "[\(many.joined(separator: ","))]"] {
            expect(
                try client.post(hub.publishPath("users"), #"{"users":\#(list),"apns":{}}"#, headers: hub.bearer), 422,
                says: "'users'")
        }
        let most = #"{"users":[\#(many.dropLast().joined(separator: ","))],"apns":{}}"#
        #expect(try client.post(hub.publishPath("users"), most, headers: hub.bearer).status == 200)
        let body = #"{"users":["\#(String(repeating: "é", count: 164))"],"apns":{}}"#
        #expect(try client.post(hub.publishPath("users"), body, headers: hub.bearer).status == 200)
    }

    @Test func `at least one platform is given, and each one is an object`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        for rest in [#""x":{}"#, #""apns":1"#, #""apns":{},"fcm":"x""#, #""web":[]"#, #""apns":null"#] {
            let body = #"{"interests":["apple"],\#(rest)}"#
            expect(try client.post(hub.publishPath("interests"), body, headers: hub.bearer), 422)
        }
        for platform in ["apns", "fcm", "web"] {
            let body = #"{"interests":["apple"],"\#(platform)":{}}"#
            #expect(try client.post(hub.publishPath("interests"), body, headers: hub.bearer).status == 200)
        }
    }

    @Test func `what no item can hold is shortened, what no device may meet is refused`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        let long = String(repeating: "t", count: 256)
        let title = #"{"users":["Mary"],"web":{"notification":{"title":"\#(long)"}}}"#
        #expect(try client.post(hub.publishPath("users"), title, headers: hub.bearer).status == 200)
        let text = String(repeating: "x", count: 17 * 1024)
        let large = #"{"users":["Mary"],"fcm":{"notification":{"title":"a","body":"\#(text)"}}}"#
        #expect(try client.post(hub.publishPath("users"), large, headers: hub.bearer).status == 200)
        let category = #"{"users":["Mary"],"fcm":{"notification":{"title":"a"},"data":{"category":"\#(long)"}}}"#
        expect(try client.post(hub.publishPath("users"), category, headers: hub.bearer), 422, says: "'category'")

        let page = try client.get("/notifications", headers: hub.user("Mary"))
        let items = try JSON(page.body[...])["notifications"]?.arrayValue ?? []
        #expect(items.count == 2)
        let cut = items.first?["content"]?.stringValue ?? ""
        #expect(cut.hasPrefix("xxx") && cut.hasSuffix("x…") && cut.count > 1_000)
        #expect(items.last?["title"]?.stringValue == String(repeating: "t", count: 254) + "…")
        #expect(items.last?["content"]?.stringValue == long)
    }

    @Test func `an unknown path is 404 and a wrong method 405 with Allow`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        expect(try client.post(hub.publishPath("devices"), Self.users, headers: hub.bearer), 404)
        expect(try client.get("/device_api/nothing"), 404)
        for method in ["GET", "PUT", "DELETE", "BREW"] {
            let answer = try client.request(method, hub.publishPath("users"), headers: hub.bearer)
            expect(answer, 405)
            #expect(answer["Allow"] == "POST")
        }
    }
}
