// A console inbox: lists a user's notifications, follows them, and marks one read by its number.
//
//   ConsoleInbox HUB KEY USER [HMAC]
import Foundation
import Peal

let words = CommandLine.arguments
guard words.count >= 4 else {
    print("usage: ConsoleInbox HUB KEY USER [HMAC]")
    exit(2)
}

/// Prints a line at once, also where nobody sits at a terminal.
func tell(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

let client = try PealClient(hub: words[1], apiKey: words[2])
let user = try client.connectUser(externalId: words[3], hmac: words.count > 4 ? words[4] : nil)
let store = user.store.build()

func show(_ notification: DeliveredNotification) {
    let mark = notification.isRead ? " " : "•"
    tell("\(mark) \(notification.number)  \(notification.title ?? "No title")")
}

let changes = store.changes
try await store.refresh()
if user.status.state != .live { tell("offline: \(user.status.lastError ?? "no connection yet")") }
for notification in store { show(notification) }
tell("\(store.unreadCount) unread of \(store.totalCount); a number marks one read, Ctrl-D ends")

// Arrivals and changes, whoever made them.
let watching = Task {
    for await change in changes where !change.isReload {
        for index in change.inserted + change.changed { show(change.notifications[index]) }
    }
}

// Lines of the person, on a thread of their own: reading blocks.
let lines = AsyncStream<String> { continuation in
    Thread.detachNewThread {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
    }
}
for await line in lines {
    guard let number = Int(line), let notification = store.first(where: { $0.number == number }) else { continue }
    do {
        try await store.markAsRead(notification)
    } catch {
        tell("not done: \(error)")
    }
}
watching.cancel()
let waiting = try await client.disconnect(user)
if waiting > 0 { tell("\(waiting) to be sent when there is a connection") }
