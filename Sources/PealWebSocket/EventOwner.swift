internal import CPealWebSocket

/// What owns connections: libwebsockets' events find it by the pointer that was given with them. Only used on the service's
/// thread.
class EventOwner {
    /// Takes an event of a connection of this owner.
    ///
    /// - Returns: for `PWS_WRITABLE`, whether it shall come again; otherwise it does not matter.
    func take(
        _ event: pws_event, of connection: OpaquePointer, code: UInt16, bytes: UnsafeRawBufferPointer
    ) -> Bool {
        preconditionFailure("an owner takes events")
    }

    /// The sockets are gone; no event comes any more.
    func serviceEnded() {}

    /// What C keeps. It does not keep the owner alive: somebody else does, until the last event.
    var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// The one callback of every service.
    static let callback: pws_callback = { owner, connection, event, code, bytes, count in
        guard let owner, let connection else { return 0 }
        // Retained during the call: the event may be the one after which nobody needs the owner.
        let target = Unmanaged<EventOwner>.fromOpaque(owner).takeUnretainedValue()
        let buffer = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
        return withExtendedLifetime(target) { $0.take(event, of: connection, code: code, bytes: buffer) ? 1 : 0 }
    }
}

/// Lends the C form of a string, or NULL.
func withOptionalCString<R>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> R) -> R {
    guard let text else { return body(nil) }
    return text.withCString { body($0) }
}

/// Lends the C forms of strings, NULL for nil.
func withCStrings<R>(_ texts: [String?], _ body: ([UnsafePointer<CChar>?]) -> R) -> R {
    func lend(_ rest: ArraySlice<String?>, _ lent: [UnsafePointer<CChar>?]) -> R {
        guard let text = rest.first else { return body(lent) }
        return withOptionalCString(text) { lend(rest.dropFirst(), lent + [$0]) }
    }
    return lend(texts[...], [])
}
