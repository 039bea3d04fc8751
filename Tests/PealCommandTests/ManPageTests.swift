import Foundation
import Testing

@testable import PealCommand

/// Manual pages out of the table of commands.
@Suite(.timeLimit(.minutes(2)))
struct ManPageTests {
    private func run(_ words: [String]) throws -> Finished {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.environment = ["PATH": "/usr/bin:/bin", "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"]
        return try Peal.finish(process)
    }

    private static func has(_ program: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/\(program)")
    }

    /// Every command with the words that lead to it.
    private static func commands(_ command: Command, _ path: [String] = []) -> [(path: [String], command: Command)] {
        let own = path + [command.name]
        return [(own, command)] + command.subcommands.flatMap { commands($0, own) }
    }

    @Test(.enabled(if: has("mandoc"))) func `each command has a page that mandoc finds nothing wrong with`() throws {
        let directory = try Directory()
        let made = try Peal.run("man", directory.path + "/man1")
        #expect(made.status == 0 && made.output.isEmpty && made.errors.isEmpty)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path + "/man1")
        let commands = Self.commands(RootCommand.command)
        #expect(Set(names) == Set(commands.map { $0.path.joined(separator: "-") + ".1" }))
        let found = try run(["mandoc", "-T", "lint"] + names.map { directory.path + "/man1/" + $0 })
        // Pages are not installed where they are looked at.
        let wrong = (found.output + found.errors).split(separator: "\n").filter {
            !$0.contains("referenced manual not found")
        }
        #expect(wrong.isEmpty, "\(wrong.prefix(10).joined(separator: "\n"))")
    }

    @Test(.enabled(if: has("man") && has("mandoc")))
    func `a page has every option, operand and example of its command`()
        throws
    {
        let directory = try Directory()
        _ = try Peal.run("man", directory.path)
        for (path, command) in Self.commands(RootCommand.command) {
            let shown = try run(["mandoc", "-T", "utf8", "\(directory.path)/\(path.joined(separator: "-")).1"]).output
                .replacing(/.\u{8}/, with: "")
            let plain = shown.replacing(/\s+/, with: " ")
            for option in command.options { #expect(plain.contains("--\(option.name)"), "\(path) --\(option.name)") }
            for name in command.options.compactMap(\.environment) { #expect(plain.contains(name), "\(path) \(name)") }
            for operand in command.operands { #expect(plain.contains(operand.name), "\(path) \(operand.name)") }
            for example in command.examples {
                #expect(plain.contains(example.replacing(/\s+/, with: " ")), "\(path): \(example)")
            }
            for other in command.subcommands {
                #expect(plain.contains("\((path + [other.name]).joined(separator: "-"))(1)"))
            }
            #expect(plain.contains("EXIT STATUS") && plain.contains("SEE ALSO"))
        }
    }

    @Test(.enabled(if: has("man"))) func `man shows a page without a word of complaint`() throws {
        let directory = try Directory()
        _ = try Peal.run("man", directory.path)
        for name in ["peal", "peal-inbox", "peal-inspect-verify"] {
            let shown = try run(["man", "--warnings", "-l", "\(directory.path)/\(name).1"])
            #expect(shown.status == 0 && shown.errors.isEmpty, "\(shown.errors)")
            #expect(shown.output.contains("SYNOPSIS"))
        }
        #expect(try Peal.run("man").output.hasPrefix(".Dd "))
        let refused = try Peal.run("man", "/dev/null/pages")
        #expect(refused.status == 1 && refused.errors.contains("See whether it is a folder"))
    }
}
