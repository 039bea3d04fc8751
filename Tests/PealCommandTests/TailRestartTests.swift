import Foundation
import Testing

@Suite(.timeLimit(.minutes(3)))
struct TailRestartTests {
    /// 10,000 items and 20 restarts are `tools/tail-restarts`.
    @Test func `while a hub is killed again and again, a tail shows each item once and in order`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        let tail = try RunningTail(
            ["--user", "Mary", "--directory", device.path, "--format", "{number} {title}"], hub: hub)
        try tail.waitUntilLive()
        let port = try #require(URL(string: hub.http)?.port.map { UInt16($0) })
        let head = "Authorization: Basic \(Data("\(hub.key):\(hub.secret)".utf8).base64EncodedString())\r\n"
        for number in 1...150 {
            let body = Array(#"{"users":["Mary"],"title":"item \#(number)"}"#.utf8)
            if number % 30 == 0 {
                // Whether this one is in the log nobody knows.
                let cut = try RawHTTPClient(port: port)
                try cut.send(
                    "POST /v1/publishes HTTP/1.1\r\nHost: test\r\n\(head)Content-Length: \(body.count)\r\n\r\n")
                try cut.send(body)
                hub.stop(signal: SIGKILL)
                try hub.start()
            }
            let answer = try RawHTTPClient(port: port).request("POST", "/v1/publishes", headers: head, body: body)
            #expect((200...299).contains(answer.status), "\(answer.text)")
        }
        let other = try Directory()
        let newest = try Peal.run(
            "inbox", "--user", "Mary", "--directory", other.path, "--all", "--limit", "1000", "--json",
            environment: hub.environment)
        let expected = try newest.lines.reversed().map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
            return "\(object["number"] as? Int ?? 0) \(object["title"] as? String ?? "")"
        }
        #expect(expected.count >= 150)
        #expect(Set(expected.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }) == Set(1...150))
        try tail.wait(seconds: 30) { tail.output.utf8.count { $0 == 0x0A } >= expected.count }
        #expect(tail.end(by: SIGINT) == 130)
        #expect(tail.output.split(separator: "\n").map(String.init) == expected)
        #expect(tail.errors.contains("offline"))
    }
}
