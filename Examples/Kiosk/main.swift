// A kiosk that runs offline for days: it shows what it holds, lets people acknowledge the newest notice, and keeps working without a hub. What
// is acknowledged meanwhile is sent when there is a connection, and nothing is lost when the power goes.
//
//   Kiosk HUB KEY DIRECTORY INTEREST
//
// Enter acknowledges the newest notice that is not; `q` ends.
import Foundation
import Peal

let words = CommandLine.arguments
guard words.count == 5 else {
    print("usage: Kiosk HUB KEY DIRECTORY INTEREST")
    exit(2)
}

/// Prints a line at once, also where nobody sits at a terminal.
func tell(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

let client = try PealClient(hub: words[1], apiKey: words[2], directory: words[3])
// The kiosk is nobody's: it has the inbox of a device, which gets what is published to its interest.
let inbox = try await client.device()
if try await !inbox.interests().contains(words[4]) {
    try await inbox.perform(.interest(name: words[4], on: true))
}
let unread = DeliveredQuery(read: false)

func show() async throws {
    let page = try await inbox.page(DeliveredQuery(), limit: 5)
    for item in page.items {
        tell("\(item.read ? " " : "•") \(item.number)  \((try? item.decodeBody())?.title ?? "No title")")
    }
    let waiting = try await inbox.outbox().count
    tell("\(await inbox.status.state), \(try await inbox.counts().unread) to acknowledge, \(waiting) to be sent")
}

let changes = inbox.changes
await inbox.connect()
try await show()
let watching = Task { for await change in changes where change.items || change.outbox { try await show() } }
let lines = AsyncStream<String> { continuation in
    Thread.detachNewThread {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
    }
}
for await line in lines {
    if line == "q" { break }
    let page = try await inbox.page(unread, limit: 1)
    guard let newest = page.items.first else { continue }
    // Durable when it returns; as of what the page showed.
    try await inbox.perform(.read(items: [newest.id], on: true, passive: false), observed: page.view)
}
watching.cancel()
await inbox.close()
