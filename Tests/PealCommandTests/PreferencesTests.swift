import Foundation
import Testing

@Suite(.timeLimit(.minutes(3)))
struct PreferencesTests {
    private func json(_ finished: Finished) throws -> [String: [String: Any]] {
        var found: [String: [String: Any]] = [:]
        for line in finished.lines {
            let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
            found[row["channel"] as? String ?? ""] = row
        }
        return found
    }

    private func file(_ directory: Directory, _ text: String) throws -> String {
        let path = directory.path + "/catalogue.json"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func `two devices choose offline, meet the hub again, and the opt-out stands`() throws {
        let folder = try Directory()
        let path = try file(
            folder,
            """
            {"categories": [{"slug": "billing", "label": "Billing", "channels": [
                {"slug": "in_app", "label": "In the app", "required": true},
                {"slug": "email", "label": "E-mail", "enabled": true}, {"slug": "push", "enabled": false}]}]}
            """)
        let hub = try HubProcess(options: ["--catalogue", path])
        let phone = try Directory()
        let laptop = try Directory()
        func run(_ device: Directory, _ words: String...) throws -> Finished {
            try Peal.run(words + ["--user", "Mary", "--directory", device.path], environment: hub.environment)
        }
        for device in [phone, laptop] {
            let first = try json(run(device, "preferences", "list", "--json"))
            #expect(first.mapValues { $0["enabled"] as? Bool } == ["in_app": true, "email": true, "push": false])
            #expect(first["in_app"]?["required"] as? Bool == true)
        }
        #expect(hub.stop() == 0)
        #expect(try run(phone, "preferences", "set", "billing", "email", "off").output == "queued\n")
        #expect(try run(laptop, "preferences", "set", "billing", "email", "on").output == "queued\n")
        #expect(try run(laptop, "preferences", "set", "billing", "push", "on").output == "queued\n")
        #expect(
            try json(run(phone, "preferences", "list", "--json", "--offline"))["email"]?["enabled"] as? Bool == false)
        let refused = try run(laptop, "preferences", "set", "billing", "in_app", "off")
        #expect(refused.output == "queued\n")

        try hub.start()
        // The laptop's on is later and had not seen the phone's off.
        for device in [phone, laptop, phone] { _ = try run(device, "preferences", "list") }
        for device in [phone, laptop] {
            let rows = try json(run(device, "preferences", "list", "--json"))
            #expect(rows.mapValues { $0["enabled"] as? Bool } == ["in_app": true, "email": false, "push": true])
        }
        #expect(try run(phone, "outbox").output == "The outbox is empty\n")
        #expect(try run(laptop, "outbox").output.contains("denied: This channel is required for this category."))
        let now = try run(phone, "preferences", "set", "billing", "in_app", "off")
        #expect(now.status == 4)
        #expect(now.errors.contains("required"))
        let table = try run(phone, "preferences", "list").lines
        #expect(table.count == 3)
        #expect(table[0].hasPrefix("on  billing"))
        #expect(table[1].contains("chosen") && table[1].hasPrefix("off "))
    }

    @Test func `a catalogue that is none keeps the hub from starting and says why`() throws {
        let folder = try Directory()
        let wrong = try file(folder, #"{"categories": [{"label": "no slug"}]}"#)
        let words = ["hub", "--directory", folder.path + "/hub", "--http-port", "0", "--websocket-port", "0"]
        let finished = try Peal.run(words + ["--catalogue", wrong])
        #expect(finished.status == 1)
        #expect(finished.errors.contains("'slug' is missing"), "\(finished.errors)")
        let missing = try Peal.run(words + ["--catalogue", folder.path + "/none"])
        #expect(missing.status == 5)
    }
}
