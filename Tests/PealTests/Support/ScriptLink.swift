import PealModel

@testable import PealHub

struct ScriptError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// A connection: frames that are under way in both directions.
final class ScriptLink {
    unowned let device: ScriptDevice
    var session = HubSession()
    var up: [[UInt8]] = []
    var down: [[UInt8]] = []
    /// Whether the hub's end is open.
    var isOpen = true
    /// Frames to the device wait until a test delivers them.
    var isHeld = false
    var closing: (code: CloseCode, reason: String)?
    var inbox: InboxKey?
    var replica: ReplicaKey?
    /// How the hub judged the hellos.
    var modes: [Admission.Mode] = []
    /// Pages that were asked for.
    var pages = 0

    init(_ device: ScriptDevice) { self.device = device }

    /// Delivers the next frame to the device, or the close; whether there was one.
    @discardableResult
    func deliver() -> Bool {
        guard device.link === self else { return false }
        if !down.isEmpty {
            device.receive(down.removeFirst())
            return true
        }
        guard let closing else { return false }
        device.ended(closing.code, closing.reason)
        return true
    }

    /// The batches that are under way to the device.
    var batches: [Batch] {
        down.compactMap { bytes in
            guard case .batch(let batch)? = try? DownFrame(bytes[...]) else { return nil }
            return batch
        }
    }
}
