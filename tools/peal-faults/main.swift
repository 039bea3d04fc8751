import Faults
import Foundation

exit(FaultCommand.run(Array(CommandLine.arguments.dropFirst())))
