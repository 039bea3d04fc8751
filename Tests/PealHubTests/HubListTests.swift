import PealModel
import Testing

@testable import PealHub

@Suite struct HubListTests {
    private func send(_ hub: TestHub, _ title: String, _ rest: String = "") throws {
        let body =
            #"{"notification":{"title":"\#(title)"\#(rest),"recipients":[{"external_id":"mary","email":"m@example.org"}]}}"#
        let answer = try hub.client().post("/notifications", body, headers: hub.admin)
        #expect(answer.status == 201, "\(answer.text)")
    }

    private func titles(_ answer: RawHTTPResponse) -> [String] {
        answer.json["notifications"]?.arrayValue?.compactMap { $0["title"]?.stringValue } ?? []
    }

    @Test func `a list has its counts, newest first, and whole items`() throws {
        let hub = try TestHub()
        for number in 1...3 { try send(hub, "T\(number)", #","category":"c\#(number)","custom_attributes":{"k":"v"}"#) }
        let answer = try hub.client().get("/notifications", headers: hub.user("mary"))
        #expect(answer.status == 200)
        #expect(titles(answer) == ["T3", "T2", "T1"])
        let json = answer.json
        for (key, value) in [
            ("total", 3), ("per_page", 15), ("total_pages", 1), ("current_page", 1), ("unread_count", 3),
            ("unseen_count", 3), ("position", 3),
        ] { #expect(json[key]?.intValue == Int64(value), "\(key)") }
        #expect(json["after"] == .null)
        let item = try #require(json["notifications"]?.arrayValue?.first)
        let keys = Set(item.objectValue?.map(\.key) ?? [])
        #expect(
            keys.isSuperset(of: [
                "id", "title", "content", "action_url", "category", "topic", "custom_attributes", "recipient",
                "sent_at",
                "seen_at", "read_at", "archived_at",
            ]))
        #expect(item["number"]?.intValue == 3)
        #expect(item["recipient"]?["external_id"]?.stringValue == "mary")
        #expect(item["recipient"]?["email"]?.stringValue == "m@example.org")
        #expect(item["read_at"] == .null && item["seen_at"] == .null && item["archived_at"] == .null)
        #expect(item["custom_attributes"]?["k"]?.stringValue == "v")
    }

    @Test func `an email finds its user in any case`() throws {
        let hub = try TestHub()
        try send(hub, "T")
        let headers = "X-MAGICBELL-API-KEY: \(hub.project.apiKey)\r\nX-MAGICBELL-USER-EMAIL: M@Example.ORG\r\n"
        #expect(titles(try hub.client().get("/notifications", headers: headers)) == ["T"])
    }

    @Test func `an empty list still has one page`() throws {
        let hub = try TestHub()
        try send(hub, "T")
        let json = try hub.client().get("/notifications?read=true", headers: hub.user("mary")).json
        #expect(json["total"]?.intValue == 0 && json["total_pages"]?.intValue == 1)
        #expect(json["unread_count"]?.intValue == 0 && json["notifications"] == .array([]))
    }

    @Test func `pages by number cover everything once`() throws {
        let hub = try TestHub()
        for number in 1...7 { try send(hub, "T\(number)") }
        let client = try hub.client()
        var found: [String] = []
        for page in 1...4 {
            let answer = try client.get("/notifications?per_page=3&page=\(page)", headers: hub.user("mary"))
            #expect(answer.json["total_pages"]?.intValue == 3)
            #expect(answer.json["current_page"]?.intValue == Int64(page))
            #expect(answer.json["total"]?.intValue == 7)
            found += titles(answer)
        }
        #expect(found == (1...7).reversed().map { "T\($0)" })
    }

    @Test func `paging by cursor neither repeats nor misses an item while new ones arrive`() throws {
        let hub = try TestHub()
        for number in 1...7 { try send(hub, "T\(number)") }
        let client = try hub.client()
        var found: [String] = []
        var target = "/notifications?per_page=2"
        for _ in 0..<10 {
            let answer = try client.get(target, headers: hub.user("mary"))
            found += titles(answer)
            try send(hub, "new")
            guard let after = answer.json["after"]?.stringValue else { break }
            target = "/notifications?per_page=2&after=\(after)"
        }
        #expect(found == (1...7).reversed().map { "T\($0)" })
    }

    @Test func `filters take lists in every form, and the counts follow`() throws {
        let hub = try TestHub()
        for (category, topic) in [("a", "x"), ("b", "x"), ("c", "y")] {
            try send(hub, category + topic, #","category":"\#(category)","topic":"\#(topic)""#)
        }
        try send(hub, "none")
        let client = try hub.client()
        for (query, wanted) in [
            ("category=a", ["ax"]), ("categories=a,b", ["bx", "ax"]), ("categories[]=a&categories[]=c", ["cy", "ax"]),
            ("categories%5B%5D=b", ["bx"]), ("topic=x", ["bx", "ax"]), ("topics=x,y&category=c", ["cy"]),
            ("category=zz", []), ("read=false", ["none", "cy", "bx", "ax"]), ("seen=true", []), ("archived=true", []),
            ("read=", ["none", "cy", "bx", "ax"]), ("unknown=1", ["none", "cy", "bx", "ax"]),
        ] {
            let answer = try client.get("/notifications?" + query, headers: hub.user("mary"))
            #expect(titles(answer) == wanted, "\(query)")
            #expect(answer.json["total"]?.intValue == Int64(wanted.count), "\(query)")
            #expect(answer.json["unread_count"]?.intValue == Int64(wanted.count), "\(query)")
        }
    }

    @Test(arguments: [
        "per_page=0", "per_page=101", "per_page=x", "per_page=", "page=0", "page=-1", "page=1000001", "page=1.5",
        "page=99999999999999999999", "read=maybe", "seen=2", "archived=yes", "after=x", "after=-1",
        "after=99999999999999999999",
    ])
    func `a parameter that makes no sense is 422 and named`(query: String) throws {
        let hub = try TestHub()
        try send(hub, "T")
        let name = query.prefix { $0 != "=" }
        expectInbox(
            try hub.client().get("/notifications?" + query, headers: hub.user("mary")), 422, "unprocessable_entity",
            says: "'\(name)'")
    }

    @Test func `a project that requires an HMAC takes the right one, or the secret, and nothing else`() throws {
        let hub = try TestHub(requiresHMAC: true)
        try send(hub, "T")
        let client = try hub.client()
        let user = hub.user("mary")
        expectInbox(
            try client.get("/notifications", headers: user), 401, "neither_user_hmac_nor_api_secret_provided")
        for wrong in ["x", hub.hmac("tom"), hub.hmac("m@example.org"), String(hub.hmac("mary").dropLast())] {
            expectInbox(
                try client.get("/notifications", headers: user + "X-MAGICBELL-USER-HMAC: \(wrong)\r\n"), 401,
                "forbidden")
        }
        let right = user + "X-MAGICBELL-USER-HMAC: \(hub.hmac("mary"))\r\n"
        #expect(try client.get("/notifications", headers: right).status == 200)
        #expect(
            try client.get("/notifications", headers: right + "X-MAGICBELL-USER-EMAIL: m@example.org\r\n").status == 200
        )
        let secret = user + "X-MAGICBELL-API-SECRET: "
        #expect(try client.get("/notifications", headers: secret + "\(hub.project.secret)\r\n").status == 200)
        expectInbox(try client.get("/notifications", headers: secret + "x\r\n"), 401, "api_secret_is_incorrect")
    }

    @Test func `the HMAC of an email is that of its lower-case form`() throws {
        let hub = try TestHub(requiresHMAC: true)
        try send(hub, "T")
        let headers =
            "X-MAGICBELL-API-KEY: \(hub.project.apiKey)\r\nX-MAGICBELL-USER-EMAIL: M@example.org\r\n"
            + "X-MAGICBELL-USER-HMAC: \(hub.hmac("m@example.org"))\r\n"
        #expect(try hub.client().get("/notifications", headers: headers).status == 200)
    }

    @Test func `an HMAC is checked even where none is required`() throws {
        let hub = try TestHub()
        try send(hub, "T")
        let wrong = hub.user("mary") + "X-MAGICBELL-USER-HMAC: \(hub.hmac("tom"))\r\n"
        expectInbox(try hub.client().get("/notifications", headers: wrong), 401, "forbidden")
    }

    @Test func `a request without a user is 401, an unknown user 404`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        let key = "X-MAGICBELL-API-KEY: \(hub.project.apiKey)\r\n"
        expectInbox(try client.get("/notifications", headers: key), 401, "user_email_not_provided")
        expectInbox(
            try client.get("/notifications", headers: hub.user("nobody")), 404, "no_user_with_provided_email")
        expectInbox(try client.get("/notifications"), 401, "api_key_not_provided")
    }
}
