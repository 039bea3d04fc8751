import Foundation

/// The files of schema/wire, found from this file's own path.
enum GoldenFiles {
    static let wire = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("schema/wire")

    /// Set to write the files anew from the values, after a deliberate change of the wire.
    static let recording = ProcessInfo.processInfo.environment["PEAL_RECORD"] == "1"

    static func frames() throws -> [String: [UInt8]] {
        var frames: [String: [UInt8]] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path("v1")) where name.hasSuffix(".json") {
            frames[String(name.dropLast(5))] = try read("v1/\(name)")
        }
        return frames
    }

    static func read(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
    }

    static func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
    }

    /// The relative paths of all files, sorted.
    static func all() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: wire.path).filter { $0.hasSuffix(".json") }.sorted()
    }

    private static func path(_ name: String) -> String { wire.appendingPathComponent(name).path }
}
