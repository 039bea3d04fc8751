import Foundation

/// A certificate authority of a test, and certificates for localhost, made with openssl in a fresh directory.
final class Certificates: Sendable {
    /// Made once for all tests.
    static let shared = Task { try await Certificates() }

    private let directory: String

    private init() async throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("peal-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        directory = url.path
        for (name, subject) in [("ca", "/CN=Peal test authority"), ("other", "/CN=Another authority")] {
            try await openssl(
                ["req", "-x509", "-days", "2", "-subj", subject, "-keyout", "\(name).key", "-out", "\(name).pem"]
                    + Self.key)
        }
        try await issue("good", names: "DNS:localhost,IP:127.0.0.1", days: 2)
        try await issue("wrong-name", names: "DNS:hub.example.com", days: 2)
        try await issue("expired", names: "DNS:localhost", days: -1)
        try await openssl(
            [
                "req", "-x509", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                "-keyout", "self-signed.key", "-out", "self-signed.pem",
            ] + Self.key)
    }

    private static let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

    /// The path of a certificate.
    func certificate(_ name: String) -> String { "\(directory)/\(name).pem" }

    /// The path of a certificate's key.
    func key(_ name: String) -> String { "\(directory)/\(name).key" }

    private func issue(_ name: String, names: String, days: Int) async throws {
        try "subjectAltName=\(names)\n".write(toFile: "\(directory)/\(name).ext", atomically: true, encoding: .utf8)
        try await openssl(["req", "-subj", "/CN=\(name)", "-keyout", "\(name).key", "-out", "\(name).csr"] + Self.key)
        try await openssl([
            "x509", "-req", "-in", "\(name).csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", "\(days)", "-extfile", "\(name).ext", "-out", "\(name).pem",
        ])
    }

    private func openssl(_ arguments: [String]) async throws {
        try await Program.run("/usr/bin/openssl", arguments, in: directory)
    }
}
