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
let (user, category, program) = (words[3], words[4], Array(words[5...]))
// systemd gives a service its state directory.
let directory = ProcessInfo.processInfo.environment["STATE_DIRECTORY"]
let client = try PealClient(hub: words[1], apiKey: words[2], directory: directory)
let store = try client.connectUser(externalId: user).store.build(read: .unread, categories: [category])

// SIGTERM ends the loop below between two notifications.
signal(SIGTERM, SIG_IGN)
let stop = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
stop.setEventHandler { client.disconnectUser(externalId: user) }
stop.resume()
do {
    try await serve(store, program)
} catch let error as PealError where error.code == .disconnected {
    tell("stopped")
}

/// Reacts to what is unread, and then to what comes; ends with the user's connection.
func serve(_ store: NotificationStore, _ program: [String]) async throws {
    var done = Set<Int>()
    let changes = store.changes
    try await store.refresh()
    while store.hasNextPage { try await store.fetch() }
    while true {
        // Oldest first; what fails is left unread, and is not tried again before the next start.
        for notification in store.reversed() where done.insert(notification.number).inserted {
            guard await react(to: notification, program) else {
                tell("failed: \(notification.number) \(notification.title ?? "")")
                continue
            }
            try await store.markAsRead(notification)
            tell("done: \(notification.number) \(notification.title ?? "")")
        }
        var next = changes.makeAsyncIterator()
        guard await next.next() != nil else { throw PealError(.disconnected, "the user was disconnected") }
    }
}

/// Runs the program; whether it ended well.
func react(to notification: DeliveredNotification, _ program: [String]) async -> Bool {
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
            tell("\(program[0]) does not start: \(error.localizedDescription)")
            process.terminationHandler = nil
            done.resume(returning: false)
        }
    }
}

/// Prints a line at once, for the journal.
func tell(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
