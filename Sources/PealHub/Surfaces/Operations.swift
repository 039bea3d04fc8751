import PealModel

/// What operators and clients ask of the hub itself.
struct OperationsSurface: Sendable {
    let core: HubCore
    /// The port of the device side.
    let webSocketPort: Int
    /// The device side's public URL, where a proxy stands in front; nil to tell it from the request.
    let publicWebSocketURL: String?
    let usesTLS: Bool
    /// The store's file, of which the metrics tell the size; nil for none.
    var databasePath: String?

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/healthz") { _, respond in respond.send(.text(200, "ok\n")) },
            HTTPRoute(.get, "/readyz") { _, respond in ready(respond) },
            HTTPRoute(.get, "/metrics") { _, respond in metrics(respond) },
            HTTPRoute(.get, "/config") { request, respond in respond.send(.json(200, config(request))) },
        ]
    }

    /// Where devices connect: the host that the client used for this request, with the device side's port.
    private func config(_ request: HTTPRequest) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        let url = publicWebSocketURL ?? url(request.headers["Host"] ?? "")
        writer.member("websocket", url)
        // Where clients of the inbox surface look for it.
        writer.key("ws")
        writer.beginObject()
        writer.member("url", url)
        writer.endObject()
        writer.member("subprotocol", wireSubprotocol)
        writer.key("versions")
        writer.beginObject()
        writer.member("hub", pealVersion)
        writer.member("wire", wireVersion)
        writer.endObject()
        writer.key("limits")
        writer.beginObject()
        writer.member("item", Int64(Limits.item))
        writer.member("title", Int64(Limits.title))
        writer.member("interest", Int64(Limits.interest))
        writer.member("interestsPerDevice", Int64(Limits.interestsPerDevice))
        writer.member("interestsPerPublish", Int64(Limits.interestsPerPublish))
        writer.member("usersPerPublish", Int64(Limits.usersPerPublish))
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }

    private func url(_ header: String) -> String {
        var host = header[...]
        if let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") { host = host[..<colon] }
        // The header is the client's: only what can be a host is given back.
        let fits =
            !host.isEmpty && host.count <= 255
            && host.utf8.allSatisfy { byte in
                byte >= 0x30 && byte <= 0x39 || byte >= 0x41 && byte <= 0x5A || byte >= 0x61 && byte <= 0x7A
                    || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]")]
                        .contains(byte)
            }
        return "\(usesTLS ? "wss" : "ws")://\(fits ? String(host) : "127.0.0.1"):\(webSocketPort)/"
    }
}
