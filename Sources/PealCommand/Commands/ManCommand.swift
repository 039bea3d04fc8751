import Foundation

/// `peal man`.
enum ManCommand {
    static let command = Command(
        name: "man", summary: "write the manual pages: peal.1 and one of each command",
        discussion: """
            Into a folder, which is made where it is not there; files of these names are written anew. Without a folder the page of peal itself is
            printed. The pages are made from the same table as --help, in mdoc.
            """,
        operands: [Operand(name: "DIR", help: "where the pages go", optional: true, kind: .directory)],
        examples: ["peal man ~/.local/share/man/man1", "man peal-inspect", "peal man | man -l -"], takesProfile: false,
        run: run)

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        let pages = ManPage.all(RootCommand.command, root: RootCommand.command)
        guard let folder = arguments.operands.first else {
            Output.text(pages[0].text)
            return .success
        }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for page in pages {
                try Data(page.text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(page.name).1"), options: .atomic)
            }
        } catch {
            throw CommandError(
                code: .failure, message: "The pages cannot be written into \(Output.safe(folder)).",
                hint: "See whether it is a folder that you may write to, and whether the disk has room.")
        }
        return .success
    }
}
