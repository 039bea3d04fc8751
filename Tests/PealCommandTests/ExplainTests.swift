import Foundation
import Testing

@Suite(.timeLimit(.minutes(2)))
struct ExplainTests {
    @Test func `explain says who set what, as sentences and as JSON, while the hub is away`() throws {
        let hub = try HubProcess()
        let device = try Directory()
        func run(_ words: String...) throws -> Finished {
            try Peal.run(words + ["--user", "Mary", "--directory", device.path], environment: hub.environment)
        }
        for number in 1...2 {
            let published = try Peal.run(
                ["publish", "--title", "a title \(number)", "--user", "Mary"], environment: hub.publisher)
            #expect(published.status == 0, "\(published.errors)")
        }
        #expect(try run("inbox", "--json").lines.count == 2)
        #expect(try run("mark", "read", "1").output == "done\n")
        hub.stop()
        #expect(try run("mark", "archive", "1").output == "queued\n")
        let file = device.path + "/id-%4dary.peal"
        let said = try Peal.run("explain", "1", file)
        #expect(said.status == 0, "\(said.errors)")
        #expect(said.output.contains("read     yes  The last act on this item decides: this device, "))
        #expect(said.output.contains("archived yes  An act of this device that the hub has not decided: this device, "))
        #expect(said.output.contains("deleted  no   It is here."))
        #expect(said.output.contains("took effect at position 3 and stands"))
        #expect(!said.output.contains("a title"), "no content")
        #expect(try run("explain", "1").output == said.output, "by the user, as every other command has it")
        let json = try Peal.run("explain", "1", file, "--json")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        let fields = try #require(object["fields"] as? [String: [String: Any]])
        #expect(fields["read"]?["value"] as? Bool == true)
        #expect(fields["read"]?["by"] as? String == "thisDevice")
        #expect(fields["archived"]?["rule"] as? String == "pending")
        let id = try #require(object["id"] as? String)
        #expect(try Peal.run("explain", id, file).output == said.output)
        let unknown = try Peal.run("explain", "99", file)
        #expect(unknown.status == 1 && unknown.errors.contains("This file knows no item '99'"))
        #expect(try Peal.run("explain", "x", file).status == 2)
    }
}
