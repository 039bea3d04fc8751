internal import Foundation

/// An HTTP proxy before a hub, which is asked for a tunnel (CONNECT): for the HTTP calls and for the WebSocket alike. No description of it holds
/// its user name or password, and no log line does.
public struct HubProxy: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `[user:password@]host:port`.
    let address: String

    /// A proxy of its URL.
    ///
    /// - Parameter text: `http://[user:password@]host[:port]`, the scheme may be left out, the port is 80 by default. What is percent-encoded in user
    ///   name and password is decoded; together they have at most 90 bytes.
    /// - Throws: ``PealError``: `badURL`.
    public init(_ text: String) throws(PealError) {
        let url = URLComponents(string: text.contains("://") ? text : "http://" + text)
        guard let url, url.scheme == "http", let host = url.host, !host.isEmpty, url.query == nil,
            url.path.isEmpty || url.path == "/"
        else {
            // The text may hold a password.
            throw PealError(.badURL, "the proxy is none; one is http://[user:password@]host:port")
        }
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let place = "\(name):\(url.port ?? 80)"
        guard let user = url.user else {
            address = place
            return
        }
        let pair = "\(user):\(url.password ?? "")"
        guard pair.utf8.count <= 90, pair.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x40 }) else {
            throw PealError(
                .badURL, "user name and password of the proxy are up to 90 printable ASCII characters without @")
        }
        address = pair + "@" + place
    }

    /// What the environment names for a hub: `https_proxy` or `HTTPS_PROXY` where the hub's URL is https, else `http_proxy`; nil where that is not
    /// set, and where `no_proxy` or `NO_PROXY` has the hub: `*`, or names, addresses and domains with commas between.
    ///
    /// - Parameters:
    ///   - hub: the hub's URL.
    ///   - variables: nil for those of this process.
    /// - Throws: ``PealError``: `badURL` for a variable that is no proxy's URL.
    public static func environment(
        for hub: String, _ variables: [String: String]? = nil
    ) throws(PealError) -> HubProxy? {
        let variables = variables ?? ProcessInfo.processInfo.environment
        let url = try HubAddress(hub).url
        func value(_ names: String...) -> String? {
            names.lazy.compactMap { variables[$0] }.first { !$0.isEmpty }
        }
        // Not HTTP_PROXY: where a web server runs this process, whoever asks sets it (CVE-2016-5385).
        let named = url.scheme == "https" ? value("https_proxy", "HTTPS_PROXY") : value("http_proxy")
        guard let named, let host = url.host?.lowercased() else { return nil }
        let bare = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        for entry in (value("no_proxy", "NO_PROXY") ?? "").split(separator: ",") {
            var name = entry.trimmingCharacters(in: .whitespaces).lowercased()
            if name == "*" { return nil }
            while name.hasPrefix(".") { name.removeFirst() }
            if !name.isEmpty, bare == name || bare.hasSuffix("." + name) { return nil }
        }
        return try HubProxy(named)
    }

    /// Host and port, without user name and password.
    public var description: String {
        String(address[(address.lastIndex(of: "@").map { address.index(after: $0) } ?? address.startIndex)...])
    }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Shows nothing of what is inside, so that `dump` does not.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
