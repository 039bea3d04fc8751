import Foundation
import Simulation

exit(SimulatorCommand.run(Array(CommandLine.arguments.dropFirst())))
