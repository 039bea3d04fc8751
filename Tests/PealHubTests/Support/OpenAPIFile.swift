import Foundation

/// The operations of schema/rest/openapi.yaml. The file keeps paths two, and methods four spaces in.
enum OpenAPIFile {
    /// The repository.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Every operation, as `POST /path`.
    static func operations() throws -> Set<String> {
        let text = try String(contentsOf: root.appendingPathComponent("schema/rest/openapi.yaml"), encoding: .utf8)
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
}
