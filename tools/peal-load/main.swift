import Foundation
import Peal
import PealModel
import PealReplica

// A device process for `tools/kill-loop`: acts (or reads) in a loop, and says on standard output, one JSON object a line, what
// it did before it does the next. Standard input rules it: `quiet` ends the acting and keeps the connection, the end of the
// input ends the process.

guard let options = Options(Array(CommandLine.arguments.dropFirst())) else {
    FileHandle.standardError.write(Data(Options.usage.utf8))
    exit(2)
}
#if PlantedBugs
    // Before any other thread is made.
    Planted.bug = ProcessInfo.processInfo.environment["PEAL_PLANTED_BUG"].flatMap { PlantedBug(rawValue: $0) }
#endif
do {
    switch options.mode {
    case "act": try await ActLoop(options, Control()).run()
    case "view": try await ViewLoop(options, Control()).run()
    default: try dump(options.path)
    }
} catch {
    Lines.write("error", ["t": now()], ["text": "\(error)"])
    exit(1)
}
