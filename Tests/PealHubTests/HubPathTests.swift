import PealModel
import Testing

@testable import PealHub

/// An id in a path is the one that it names after one decoding of each segment, or the request is refused: no id turns into another one.
@Suite struct HubPathTests {
    /// A path's segment as it is sent, and the id that it names; nil where it is refused whatever it stands for.
    private static let table: [(raw: String, id: String?)] = [
        ("a;b", "a;b"), ("a&b", "a&b"), ("a+b", "a+b"), ("a%2Bb", "a+b"), ("a%2F..%2Fb", "a/../b"), ("a%00b", nil),
        ("a%252Fb", "a%2Fb"), ("%C3%28", nil), ("%", nil), ("%4", nil), ("é", "é"), ("%C3%A9", "é"),
        ("e%CC%81", "e\u{301}"),
        ("..", ".."), ("%2e%2e", ".."), (".", "."), ("%20", " "), ("a%3Fb", "a?b"), ("a%23b", "a#b"),
        (String(repeating: "x", count: 164), String(repeating: "x", count: 164)),
        (String(repeating: "x", count: 165), String(repeating: "x", count: 165)),
    ]

    /// Each once, by its bytes: `String` takes differently composed letters for equal.
    private static func distinct(_ ids: [String]) -> [String] {
        Set(ids.map { Array($0.utf8) }).map { String(decoding: $0, as: UTF8.self) }
    }

    private func path(_ hub: TestHub, _ text: String) -> String {
        text.replacing("{instance}", with: hub.project.instance)
    }

    @Test func `an interest in a path is that interest, or none`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        let base = path(hub, "/device_api/v1/instances/{instance}/devices/apns")
        for (index, (raw, id)) in (Self.table + [(raw: "a//b", id: nil), (raw: "", id: nil)]).enumerated() {
            let made = try client.post(base, #"{"token":"t\#(index)"}"#, headers: "").json
            let one = base + "/" + (try #require(made["id"]?.stringValue))
            let status = try client.request("POST", one + "/interests/" + raw).status
            let names = try client.get(one + "/interests").json["interests"]?.arrayValue?.compactMap(\.stringValue)
            if let id, Limits.isInterest(id) {
                #expect(status == 200 && names == [id], "\(raw)")
                #expect(try client.request("DELETE", one + "/interests/" + raw).status == 200)
                #expect(try client.get(one + "/interests").json["interests"] == .array([]), "\(raw)")
            } else {
                #expect([400, 404, 422].contains(status) && names == [], "\(raw): \(status)")
            }
        }
    }

    @Test func `a user in a path is that user, or none`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        let ids = Self.distinct(Self.table.compactMap(\.id) + ["a", "b", "a b", "a%2Bb", "a%252Fb", "a//b", "A;B"])
        for id in ids {
            let body = JSON.object([("user", .object([("external_id", .string(id))]))]).bytes
            #expect(try client.request("POST", "/users", headers: hub.admin, body: body).status == 201, "\(id)")
        }
        for (raw, id) in Self.table {
            let answer = try client.get("/users/external_id:" + raw, headers: hub.admin)
            let found = answer.json["user"]?["external_id"]?.stringValue
            #expect(found.map { Array($0.utf8) } == id.map { Array($0.utf8) }, "\(raw): \(answer.status)")
            #expect(answer.status == (id == nil ? 400 : 200), "\(raw)")
        }
        #expect(try client.get("/users/external_id:a//b", headers: hub.admin).status == 404)
    }

    @Test func `deleting by a path deletes that user alone, a slash being a part of its id`() throws {
        let hub = try TestHub()
        let client = try hub.client()
        let table = Self.table + [(raw: "a//b", id: "a//b"), (raw: "a/../b", id: "a/../b"), (raw: "../a", id: "../a")]
        let ids = Self.distinct(table.compactMap(\.id))
        func all() throws -> Set<[UInt8]> {
            var there: Set<[UInt8]> = []
            for id in ids {
                let name = id.utf8.map { byte -> String in
                    let digits = String(byte, radix: 16)
                    return "%" + (digits.count == 1 ? "0" : "") + digits
                }.joined()
                let found = try client.get("/users/external_id:" + name, headers: hub.admin)
                if found.status == 200 { there.insert(Array(id.utf8)) }
            }
            return there
        }
        for (raw, id) in table {
            for id in ids {
                let body = JSON.object([("user", .object([("external_id", .string(id))]))]).bytes
                _ = try client.request("POST", "/users", headers: hub.admin, body: body)
            }
            let before = try all()
            #expect(before.count == ids.count)
            let target = path(hub, "/customer_api/v1/instances/{instance}/users/") + raw
            let status = try client.request("DELETE", target, headers: hub.bearer).status
            #expect(status == (id == nil ? 400 : 200), "\(raw): \(status)")
            #expect(try before.subtracting(all()) == Set(id.map { [Array($0.utf8)] } ?? []), "\(raw)")
        }
    }
}
