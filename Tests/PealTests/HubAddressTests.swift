import PealHub
import Testing

@testable import Peal

@Suite struct HubAddressTests {
    /// Foundation on Linux trapped when a request was cancelled just after it began: so it is cancelled at once, thousands of times.
    @Test("a request that is cancelled at any moment ends with an error, never the process")
    func cancelled() async throws {
        let bench = try Bench()
        let hub = try HubAddress("http://127.0.0.1:\(bench.hub.httpPort)")
        for round in 0..<150 {
            await withTaskGroup { group in
                for index in 0..<16 {
                    group.addTask {
                        let request = Task { try? await hub.webSocketURL() }
                        for _ in 0..<(round * index % 40) { await Task.yield() }
                        request.cancel()
                        _ = await request.value
                    }
                }
            }
        }
        #expect(try await hub.webSocketURL().hasPrefix("ws://"))
        await bench.stop()
    }
}
