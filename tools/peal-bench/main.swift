#if canImport(Glibc)
    @preconcurrency import Glibc
#endif
@preconcurrency import Foundation

// Benchmarks, one subcommand each; tools/bench builds and runs them. Results stand in docs/performance.md.

setvbuf(stdout, nil, _IOLBF, 0)
let words = CommandLine.arguments.dropFirst().filter { $0 != "--json" }
let rest = Array(words.dropFirst())
do {
    switch words.first {
    case "fanout-threads": try await FanoutBench.run(rest)
    case "memory": try await FanoutBench.memory(rest)
    case "fanout-client": try await FanoutClient.run(rest)
    case "websocket-fanout": try await WebSocketFanout.run(rest)
    case "websocket-memory": try await WebSocketFanout.memory(rest)
    case "websocket-client": try await WebSocketFanout.client(rest)
    case "latency": try await LatencyBench.run(rest)
    case "applied-devices": try await AppliedBench.run(rest)
    case "hub-devices": try DeviceFile.make(rest)
    case "soak-devices": try await SoakDevices.run(rest)
    case "hub": try HubProcess.serve(rest)
    case "act": try ActBench.act(rest)
    case "mark": try ActBench.mark(rest)
    case "bootstrap": try await BootstrapBench.run(rest)
    case "hub-stop": try await FanoutBench.stop(rest)
    case "drain": try await DrainBench.run(rest)
    case "store": try await StoreBench.run(rest)
    case "append": try AppendBench.run(rest)
    case "budget": try BudgetBench.run(rest)
    case "curves": try CurveBench.run(rest)
    case "fold": try ReplicaBench.fold(rest)
    case "sum": try ReplicaBench.sum(rest)
    case "page": try ReplicaBench.page(rest)
    case "fill": try ReplicaBench.fill(rest)
    case "stage": try StageBench.run(rest)
    case "tail": try await TailBench.run(rest)
    #if PostgreSQL
        case "postgres": try PostgresBench.run(rest)
    #endif
    default:
        print(
            "usage: peal-bench fanout-threads | memory | websocket-fanout | websocket-memory | latency | append | budget | curves | fold | sum | page | stage | act | mark | bootstrap | drain | store | tail | hub-stop | postgres"
        )
        exit(2)
    }
    exit(0)
} catch {
    print("failed: \(error)")
    exit(1)
}
