internal import Foundation

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// How an app shows a notification to the person at the device.
public protocol NotificationPresenter: Sendable {
    /// Shows it; returns when it is shown, not when it is closed. Called on any thread.
    ///
    /// - Throws: why it could not be shown; a ``PealError`` goes to the caller of ``PealClient/show(_:)`` as it is.
    func present(_ notification: DeliveredNotification) async throws
}

/// A desktop notification where a notification service runs, else some lines on the terminal. What is shown holds no control characters.
///
/// The service is that of freedesktop.org, asked through the program `notify-send`, which is started with arguments and without a shell.
public struct SystemPresenter: NotificationPresenter {
    /// What the service calls the sender.
    public let appName: String
    private let program: String?
    private let output: @Sendable (String) -> Void

    /// A presenter of this process, by its name.
    public init() { self.init(appName: ProcessInfo.processInfo.processName) }

    /// A presenter of an app.
    public init(appName: String) {
        self.init(appName: appName, program: Self.findProgram(ProcessInfo.processInfo.environment)) { text in
            FileHandle.standardOutput.write(Data(text.utf8))
        }
    }

    init(appName: String, program: String?, output: @escaping @Sendable (String) -> Void) {
        self.appName = appName
        self.program = program
        self.output = output
    }

    /// Shows it. A service that does not take it within ten seconds counts as none.
    public func present(_ notification: DeliveredNotification) async {
        if let program, await run(program, Self.arguments(notification, appName)) { return }
        output(Self.lines(notification))
    }

    /// `notify-send`, where it is installed and there is a session bus to ask through.
    static func findProgram(_ environment: [String: String]) -> String? {
        let bus =
            environment["DBUS_SESSION_BUS_ADDRESS"]?.isEmpty == false
            || environment["XDG_RUNTIME_DIR"].map { access($0 + "/bus", F_OK) == 0 } ?? false
        guard bus else { return nil }
        return (environment["PATH"] ?? "").split(separator: ":").lazy.map { $0 + "/notify-send" }
            .first { access($0, X_OK) == 0 }
    }

    static func arguments(_ notification: DeliveredNotification, _ appName: String) -> [String] {
        let title = plain(notification.title ?? "", lines: false)
        let content = plain(notification.content ?? "", lines: true)
        // The service reads the body, and not the title, as markup.
        let body = content.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        return [
            "--app-name=" + plain(appName, lines: false), "--", title.isEmpty ? plain(appName, lines: false) : title,
            body,
        ]
    }

    static func lines(_ notification: DeliveredNotification) -> String {
        let title = plain(notification.title ?? "", lines: false)
        let parts = [
            title.isEmpty ? notification.type : title, plain(notification.content ?? "", lines: true),
            plain(notification.mediaURL ?? "", lines: false), plain(notification.actionURL ?? "", lines: false),
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "\n") + "\n"
    }

    /// Without characters that a terminal or a service would obey.
    private static func plain(_ text: String, lines: Bool) -> String {
        var plain = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate:
                // Joiners and marks of direction that stand inside words and emoji stay; what overrides directions goes.
                if scalar == "\u{200D}" || scalar == "\u{200C}" {
                    plain.append(scalar)
                } else if scalar == "\n", lines {
                    plain.append(scalar)
                } else if scalar.properties.generalCategory != .format {
                    plain.append(" ")
                }
            default: plain.append(scalar)
            }
        }
        return String(plain)
    }

    private func run(_ program: String, _ arguments: [String]) async -> Bool {
        await withCheckedContinuation { done in
            let process = Process()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = arguments
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            process.standardInput = FileHandle.nullDevice
            process.terminationHandler = { done.resume(returning: $0.terminationStatus == 0) }
            do {
                try process.run()
                let id = process.processIdentifier
                DispatchQueue.global().asyncAfter(deadline: .now() + 10) { [weak process] in
                    if process?.isRunning == true { kill(id, SIGKILL) }
                }
            } catch {
                process.terminationHandler = nil
                done.resume(returning: false)
            }
        }
    }
}
