import Peal
import PealModel

/// `peal interests`.
enum InterestsCommand {
    static let command = Command(
        name: "interests", summary: "the interests of this device: list, add, remove, set",
        discussion: "Works offline: a change is durable when the command returns, and is sent when there is a hub.",
        subcommands: [
            Command(name: "list", summary: "list them", options: InboxOptions.all, run: list),
            Command(
                name: "add", summary: "add one or more", operands: [names], options: InboxOptions.all,
                run: { try await change($0) { names in names.map { .interest(name: $0, on: true) } } }),
            Command(
                name: "remove", summary: "remove one or more", operands: [names], options: InboxOptions.all,
                run: { try await change($0) { names in names.map { .interest(name: $0, on: false) } } }),
            Command(
                name: "set", summary: "replace them all; without a name, by none",
                operands: [Operand(name: "NAME", help: "an interest", optional: true, repeats: true)],
                options: InboxOptions.all, run: { try await change($0) { [.interests(replace: $0)] } }),
        ])

    private static let names = Operand(
        name: "NAME", help: "an interest: 1 to 164 of a-z A-Z 0-9 _ - = @ , . ;", repeats: true)

    private static func list(_ arguments: Arguments) async throws -> ExitCode {
        let inbox = try await InboxOptions.open(arguments, device: true)
        try await InboxOptions.settle(inbox, arguments)
        try await show(inbox, arguments)
        await inbox.close()
        return .success
    }

    private static func show(_ inbox: Inbox, _ arguments: Arguments) async throws {
        let interests = try await inbox.interests()
        if arguments.has("json") {
            Output.line(
                String(
                    decoding: JSON.object([("interests", .array(interests.map(JSON.string)))]).bytes, as: UTF8.self))
        } else {
            for interest in interests { Output.line(interest) }
            if interests.isEmpty { Output.remark("no interests") }
        }
    }

    private static func change(
        _ arguments: Arguments, _ operations: @Sendable ([String]) -> [PealModel.Operation]
    ) async throws -> ExitCode {
        for name in arguments.operands where !Limits.isInterest(name) {
            throw CommandError(
                code: .usage, message: "'\(Output.safe(name))' is not an interest.",
                hint: "An interest is 1 to \(Limits.interest) of a-z A-Z 0-9 _ - = @ , . ;")
        }
        let inbox = try await InboxOptions.open(arguments, device: true)
        for operation in operations(arguments.operands) { try await inbox.perform(operation) }
        try await InboxOptions.settle(inbox, arguments)
        try await show(inbox, arguments)
        await inbox.close()
        return .success
    }
}
