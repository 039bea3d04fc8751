import PealModel
import Testing

/// Serialized, because recording writes what the others read.
@Suite(.serialized) struct GoldenFrameTests {
    @Test func `each golden file is what its value encodes to, and nothing is missing`() throws {
        if GoldenFiles.recording {
            for (name, frame) in GoldenFrames.all { try GoldenFiles.write("v1/\(name).json", frame.bytes + [0x0A]) }
        }
        let files = try GoldenFiles.frames()
        #expect(Set(files.keys) == Set(GoldenFrames.all.keys))
        for (name, bytes) in files {
            #expect(
                String(decoding: bytes, as: UTF8.self)
                    == String(decoding: GoldenFrames.all[name]?.bytes ?? [], as: UTF8.self) + "\n", "\(name)")
        }
    }

    @Test func `each golden file is decoded to its value and encoded to the same bytes`() throws {
        for (name, bytes) in try GoldenFiles.frames() {
            let golden = try #require(GoldenFrames.all[name])
            let decoded = try golden.decode(bytes[...])
            #expect(decoded == golden, "\(name)")
            #expect(decoded.bytes + [0x0A] == bytes, "\(name)")
            // A frame has its direction; only the probes go both ways.
            if case .up = golden {
                let type = try #require(try JSONObject(bytes[...]).string("type"))
                let isProbe = ["ping", "pong"].contains(name)
                #expect((try DownFrame(bytes[...]) == .unknown(type: type)) == !isProbe, "\(name)")
            } else {
                #expect((try? UpFrame(bytes[...])) == nil, "\(name)")
            }
        }
    }

    @Test func `each entry and body in a golden file is decoded and encoded to the same bytes`() throws {
        var kinds = Set<String>()
        for (name, frame) in GoldenFrames.all {
            guard case .down(.batch(let batch)) = frame else { continue }
            for bytes in batch.entries {
                let entry = try Entry(bytes)
                if case .item(_, _, let body) = entry.kind {
                    #expect(try ItemBody(JSONObject(body)).bytes == Array(body), "\(name)")
                }
                kinds.insert(try JSONObject(bytes).string("kind") ?? "")
                if case .unknown = entry.kind { continue }
                #expect(entry.bytes == Array(bytes), "\(name)")
            }
        }
        #expect(kinds == ["item", "act", "retract", "expired", "catalogue", "weather"])
    }

    @Test func `the receiver refuses a frame without a member exactly where the list of required members says so`()
        throws
    {
        var required: [(key: String, value: JSON)] = []
        for (name, frame) in GoldenFrames.all.sorted(by: { $0.key < $1.key }) {
            let pointers = Deletions.of(try JSON(frame.bytes[...])).filter { !isTaken($0.value, as: frame) }
            required.append((name, .array(pointers.map { .string($0.pointer) })))
        }
        let bytes = JSON.object(required).bytes + [0x0A]
        if GoldenFiles.recording { try GoldenFiles.write("v1.required.json", bytes) }
        #expect(try GoldenFiles.read("v1.required.json") == bytes)
    }

    /// Whether a receiver takes the whole of a frame: every mutation, entry, row and body in it.
    private func isTaken(_ value: JSON, as golden: GoldenFrame) -> Bool {
        do {
            switch try golden.decode(value.bytes[...]) {
            case .up(.suspect(let mutation)):
                if case .malformed = mutation.operation { return false }
            case .up(.push(let mutations)):
                return mutations.allSatisfy { if case .malformed = $0.operation { false } else { true } }
            case .down(.batch(let batch)):
                for bytes in batch.entries {
                    if case .item(_, _, let body) = try Entry(bytes).kind { _ = try ItemBody(JSONObject(body)) }
                }
            case .down(.page(let page)): for row in page.rows { _ = try ItemBody(JSONObject(row.body)) }
            default: break
            }
            return true
        } catch {
            return false
        }
    }

    @Test func `the wire has not changed without its version`() throws {
        // If this fails, the wire has changed. Can a peer of the version below still read what this one sends, and send what
        // this one reads? Then record the new hash. If not, raise `wireVersion`, keep v1 and add v2 beside it.
        let hashes: [Int64: String] = [1: "82e295874935fea7"]
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for name in try GoldenFiles.all() {
            for byte in Array(name.utf8) + [0] + (try GoldenFiles.read(name)) {
                hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
            }
        }
        #expect(hashes[wireVersion] == Hex64.text(hash))
        #expect(wireSubprotocol == "peal.v\(wireVersion).json")
    }
}
