import Foundation
import Fuzzing

/// libFuzzer's way in: the target is named by `PEAL_FUZZ_TARGET` (tools/fuzz).
///
/// With `PEAL_FUZZ_SEEDS` set to a folder, the seeds and the dictionary are written there and the process ends.
private let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["PEAL_FUZZ_TARGET"] ?? ""
    guard let target = FuzzTarget.named(name) else {
        fatalError("PEAL_FUZZ_TARGET is one of \(FuzzTarget.all.map(\.name))")
    }
    return target
}()

@_cdecl("LLVMFuzzerInitialize")
public func initialize(_: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) -> CInt {
    guard let folder = ProcessInfo.processInfo.environment["PEAL_FUZZ_SEEDS"] else { return 0 }
    do {
        let corpus = URL(fileURLWithPath: folder).appendingPathComponent("seeds")
        try FileManager.default.createDirectory(at: corpus, withIntermediateDirectories: true)
        for seed in try target.seeds() {
            try Data(seed.bytes).write(to: corpus.appendingPathComponent(seed.name))
        }
        try Data(target.dictionaryFile.utf8).write(
            to: URL(fileURLWithPath: folder).appendingPathComponent("dictionary"))
    } catch {
        fatalError("the seeds cannot be written: \(error)")
    }
    exit(0)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let problem = target.run(Array(UnsafeBufferPointer(start: start, count: count))) { fatalError(problem) }
    return 0
}
