// A service that reacts to notifications: each unread one of a category starts a program, whose success marks it read. What came while the
// service was down, or the hub was, is done when they are back; what failed is tried again at the next start.
//
//   NotificationService HUB KEY USER CATEGORY PROGRAM…
//
// The program gets PEAL_TITLE, PEAL_CONTENT and PEAL_NUMBER in its environment, and no shell.
import Dispatch
import Foundation
import Peal

let words = CommandLine.arguments
guard words.count >= 6 else {
    print("usage: NotificationService HUB KEY USER CATEGORY PROGRAM…")
    exit(2)
}
setvbuf(stdout, nil, Int32(_IOLBF), 0)
let (user, category, program) = (words[3], words[4], Array(words[5...]))
// systemd gives a service its state directory.
let directory = ProcessInfo.processInfo.environment["STATE_DIRECTORY"]
let client = try PealClient(hub: words[1], apiKey: words[2], directory: directory)
let store = try client.connectUser(externalId: user).store.build(read: .unread, categories: [category])

/// Runs the program; whether it ended well.
func react(to notification: DeliveredNotification) async -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program[0])
    process.arguments = Array(program.dropFirst())
    process.environment = [
        "PATH": "/usr/local/bin:/usr/bin:/bin", "PEAL_TITLE": notification.title ?? "",
        "PEAL_CONTENT": notification.content ?? "", "PEAL_NUMBER": "\(notification.number)",
    ]
    return await withCheckedContinuation { done in
        process.terminationHandler = { done.resume(returning: $0.terminationStatus == 0) }
        do {
            try process.run()
        } catch {
            print("\(program[0]) does not start: \(error.localizedDescription)")
            process.terminationHandler = nil
            done.resume(returning: false)
        }
    }
}

// SIGTERM ends the loop below between two notifications.
let changes = store.changes
signal(SIGTERM, SIG_IGN)
let stop = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
stop.setEventHandler { client.disconnectUser(externalId: user) }
stop.resume()

var done = Set<Int>()
func work() async throws {
    // Oldest first; what fails is left unread, and is not tried again before the next start.
    for notification in store.reversed() where done.insert(notification.number).inserted {
        guard await react(to: notification) else {
            print("failed: \(notification.number) \(notification.title ?? "")")
            continue
        }
        try await store.markAsRead(notification)
        print("done: \(notification.number) \(notification.title ?? "")")
    }
}
do {
    try await store.refresh()
    while store.hasNextPage { try await store.fetch() }
    try await work()
    for await _ in changes { try await work() }
} catch let error where error.code == .disconnected {
    // Stopped.
}
print("stopped")
