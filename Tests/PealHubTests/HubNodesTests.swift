#if PostgreSQL
    import Foundation
    import PealModel
    import PostgresServer
    import Testing

    @testable import PealHub

    /// Two whole hubs on one database: what one does reaches the devices of the other (docs/nodes.md).
    @Suite(.timeLimit(.minutes(4))) struct HubNodesTests {
        /// The hubs, and their database, which goes with them.
        private final class Pair {
            private let database: PostgresNodesTests.Database
            let one: TestHub
            let other: TestHub

            init() throws {
                let database = try PostgresNodesTests.Database()
                self.database = database
                one = try TestHub { $0.store = database.address }
                other = try TestHub { $0.store = database.address }
            }
        }

        @Test func `what is published at one hub reaches devices of both, in one order`() throws {
            let pair = try Pair()
            #expect(pair.one.project.instance == pair.other.project.instance)
            #expect(pair.one.project.isNew && !pair.other.project.isNew)
            let devices = [try TestDevice(pair.one), try TestDevice(pair.other)]
            for device in devices { _ = try device.welcome(pair.one.hello("mary")) }
            for number in 0..<20 {
                try (number % 2 == 0 ? pair.one : pair.other).publish("\(number)", users: ["mary"])
            }
            for device in devices {
                let entries = try device.entries(through: 20)
                #expect(try entries.map(title) == (0..<20).map(String.init))
            }
        }

        private func title(_ entry: Entry) throws -> String {
            guard case .item(_, _, let body) = entry.kind else { return "no item" }
            return try ItemBody(JSONObject(body)).title ?? ""
        }

        @Test func `a session that is opened at another hub ends the one before`() throws {
            let pair = try Pair()
            let hello = pair.one.hello("mary")
            let old = try TestDevice(pair.one)
            let first = try old.welcome(hello)
            let new = try TestDevice(pair.other)
            var again = hello
            again.attempt = 2
            again.nonce = first.nonce
            again.proof.secret = first.secret
            let welcome = try new.welcome(again)
            #expect(welcome.session != first.session)
            #expect(try old.closeCode() == CloseCode.replaced.rawValue)
            try pair.one.publish("a", users: ["mary"])
            #expect(try new.entries(through: 1).count == 1)
        }

        @Test func `a user who is deleted at one hub is signed out at the other`() throws {
            let pair = try Pair()
            let device = try TestDevice(pair.other)
            _ = try device.welcome(pair.one.hello("mary"))
            // Known where it is, and not only there.
            try pair.one.publish("a", users: ["mary"])
            _ = try device.entries(through: 1)
            let path = "/customer_api/v1/instances/\(pair.one.project.instance)/users/mary"
            let answer = try pair.one.client().request("DELETE", path, headers: pair.one.bearer)
            #expect(answer.status == 200)
            #expect(try device.closeCode() == CloseCode.revoked.rawValue)
        }

        @Test func `a key that is revoked at one hub opens nothing at the other`() throws {
            let pair = try Pair()
            let device = try TestDevice(pair.other)
            _ = try device.welcome(pair.one.hello("mary"))
            let project = pair.one.project
            let token = try #require(project.operatorToken)
            let answer = try pair.one.client().request(
                "POST", "/v1/projects/\(project.instance)/rotate",
                headers: "Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n",
                body: Array(#"{"key":true,"overlap_seconds":0}"#.utf8))
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try device.closeCode() == CloseCode.revoked.rawValue)
        }

        @Test func `a notice is what it was, over the wire, and names no more than it may`() throws {
            let some = NodeNotice(inboxes: [InboxKey(row: 3), InboxKey(row: 9)], isOfProjects: true)
            for notice in [some, .everything, NodeNotice(isOfAll: true), NodeNotice(inboxes: [InboxKey(row: 1)])] {
                #expect(NodeNotice(notice.payload(from: "a"), besides: "b") == notice)
                #expect(NodeNotice(notice.payload(from: "a"), besides: "a") == nil)
            }
            for strange in ["", "b", "b p", "b p x", "b ? 1", "b p 1,two", "b p 1 2"] {
                #expect(NodeNotice(strange, besides: "a")?.isOfAll == true, "\(strange)")
            }
            var many = some
            many.merge(NodeNotice(inboxes: Set((1...Int64(NodeNotice.limit)).map(InboxKey.init(row:)))))
            #expect(many.isOfAll || many.inboxes.count <= NodeNotice.limit)
            many.merge(NodeNotice(inboxes: Set((1_000...1_400).map(InboxKey.init(row:)))))
            #expect(many == .everything)
            // What a notice may be at most is under the server's limit of 8,000 bytes.
            let largest = NodeNotice(inboxes: Set((0..<Int64(NodeNotice.limit)).map { InboxKey(row: .max - $0) }))
            #expect(largest.payload(from: "0123456789abcdef").utf8.count < 8_000)
        }
    }
#endif
