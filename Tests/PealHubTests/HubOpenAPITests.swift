import Foundation
import Testing

@testable import PealHub

@Suite struct HubOpenAPITests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The operations of the document, as `POST /path`. The file keeps paths two, and methods four spaces in.
    private func described() throws -> Set<String> {
        let text = try String(contentsOf: Self.root.appendingPathComponent("schema/rest/openapi.yaml"), encoding: .utf8)
        var operations: Set<String> = []
        var path = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("  /"), line.hasSuffix(":") { path = String(line.dropFirst(2).dropLast()) }
            if line.hasPrefix("components:") { break }
            for method in ["get", "put", "post", "delete", "patch"] where line == "    \(method):" {
                operations.insert("\(method.uppercased()) \(path)")
            }
        }
        return operations
    }

    @Test func `every route stands in the OpenAPI file, and nothing else does`() throws {
        let hub = try TestHub()
        let served = Set(hub.server.routes.map { "\($0.method.rawValue) \($0.pattern.replacing("*}", with: "}"))" })
        #expect(try described() == served)
        #expect(served.count == 45)
    }

    @Test func `the OpenAPI file is valid, and the hub's real answers fit it`() throws {
        let hub = try TestHub()
        let check = Process()
        check.executableURL = Self.root.appendingPathComponent("tools/check-openapi")
        check.arguments = [
            "http://127.0.0.1:\(hub.server.httpPort)", hub.project.instance, hub.project.apiKey, hub.project.secret,
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
