import Foundation
import Testing

@testable import PealHub

@Suite struct HubOpenAPITests {
    @Test func `every route stands in the OpenAPI file, and nothing else does`() throws {
        let hub = try TestHub()
        let served = Set(hub.server.routes.map { "\($0.method.rawValue) \($0.pattern.replacing("*}", with: "}"))" })
        #expect(try OpenAPIFile.operations() == served)
        #expect(served.count == 63)
    }

    @Test func `the OpenAPI file is valid, and the hub's real answers fit it`() throws {
        let hub = try TestHub()
        let check = Process()
        check.executableURL = OpenAPIFile.root.appendingPathComponent("tools/check-openapi")
        check.arguments = [
            "http://127.0.0.1:\(hub.server.httpPort)", hub.project.instance, hub.project.apiKey, hub.project.secret,
            try #require(hub.project.operatorToken),
        ]
        let output = Pipe()
        check.standardOutput = output
        check.standardError = output
        try check.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        check.waitUntilExit()
        #expect(check.terminationStatus == 0, "\(text)")
        #expect(text.contains("answers of the hub fit"), "\(text)")
    }
}
