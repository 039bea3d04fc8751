import Foundation
import PealModel

/// The golden frames of schema/wire, by name; found from this file's own path.
enum GoldenFrames {
    static let all: [(name: String, bytes: [UInt8])] = {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("schema/wire/v1")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted().compactMap { name in
            guard let data = try? Data(contentsOf: folder.appendingPathComponent(name)) else { return nil }
            return (String(name.dropLast(5)), [UInt8](data))
        }
    }()

    /// Those that go up, and those that go down.
    static let up = all.filter { (try? UpFrame($0.bytes[...])) != nil }.map(\.bytes)
    static let down = all.filter { (try? UpFrame($0.bytes[...])) == nil }.map(\.bytes)

    /// What the golden pushes ask for.
    static let operations: [PealModel.Operation] = up.flatMap { bytes -> [PealModel.Operation] in
        guard case .push(let mutations)? = try? UpFrame(bytes[...]) else { return [] }
        return mutations.map(\.operation)
    }

    /// The same, as they stand in an outbox.
    static let operationTexts: [[UInt8]] = operations.map { operation in
        var writer = JSONWriter()
        operation.write(to: &writer)
        return writer.bytes
    }

    /// The batch with every effect.
    static let batch = all.first { $0.name == "batch.every-effect" }.flatMap { try? DownFrame($0.bytes[...]) }
}
