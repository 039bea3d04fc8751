import Glibc
import Testing

@testable import PealHub

/// What webhooks may call.
@Suite struct WebhookPolicyTests {
    private func allows(_ listed: [String], _ address: String, port: String? = nil) -> Bool {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address, port, &hints, &found) == 0, let socket = found?.pointee.ai_addr else {
            Issue.record("no address: \(address)")
            return false
        }
        defer { freeaddrinfo(found) }
        return WebhookPolicy(listed).allows(UnsafePointer(socket))
    }

    @Test(arguments: [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1", "192.0.2.1", "198.51.100.7", "203.0.113.9", "198.18.0.1", "224.0.0.1", "255.255.255.255", "::1",
        "::", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2001:db8::1",
        "2002:7f00:1::", "2001:0:7f00:1::", "64:ff9b::7f00:1",
    ])
    func `an address that is not public is refused, unless it is listed itself`(_ address: String) {
        #expect(!allows(["hooks.example.org"], address))
        let plain = address.hasPrefix("::ffff:") ? String(address.dropFirst(7)) : address
        #expect(allows([plain], address))
    }

    @Test(arguments: ["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.63.0.1", "2606:4700::1111"])
    func `a public address may be called`(_ address: String) { #expect(allows([], address)) }

    @Test(arguments: ["127.0.0.1", "[::1]"])
    func `an address that is listed with a port is called on that port only, also by a name`(_ listed: String) {
        let address = listed.filter { $0 != "[" && $0 != "]" }
        #expect(allows(["\(listed):8443"], address, port: "8443"))
        #expect(!allows(["\(listed):8443", "hooks.example.org"], address, port: "443"))
        #expect(allows([listed], address, port: "443"))
    }

    @Test func `a host must be listed, with the port or without`() {
        let policy = WebhookPolicy(["hooks.Example.org", "other.org:8443", "[::1]:9000", "127.0.0.1"])
        for url in [
            "https://hooks.example.org/a?b=c", "http://HOOKS.example.org:81/", "https://other.org:8443/",
            "http://[::1]:9000/x", "http://127.0.0.1:9/hook",
        ] { #expect(policy.target(url) != nil, "\(url)") }
        for url in [
            "https://example.org/", "https://other.org/", "http://[::1]/", "https://hooks.example.org.evil.org/",
            "https://hooks.example.org@evil.org/", "https://evil.org/hooks.example.org", "ftp://hooks.example.org/",
            "https://hooks.example.org:0/", "https://hooks.example.org:x/", "https://hooks.example.org\\.evil.org/",
            "https://hooks.example.org /", "hooks.example.org", "", "https://", "https://evil.org#@hooks.example.org/",
            "https://evil.org%2f@hooks.example.org/", "https://hooks.example.org:443x/", "http://127.0.0.1.evil.org/",
            "http://2130706433/", "http://0*", "http://[::1", "http://a_b/",
        ] { #expect(policy.target(url) == nil, "\(url)") }
    }
}
