internal import CPealCrypto
internal import Foundation

/// What proves a user by the project's secret (docs/sync.md section 5): base64 of HMAC-SHA-256(secret, external id, else the lower-case
/// email).
enum UserCode {
    static func code(of name: String, secret: String) -> String {
        let (message, key) = (Array(name.utf8), Array(secret.utf8))
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        // A null key would mean "the key of last time"; an empty array has no address to give.
        let made = HMAC(
            EVP_sha256(), key.isEmpty ? [0] : key, Int32(key.count), message, message.count, &code, &count)
        precondition(made != nil, "libcrypto failed to compute an HMAC")
        return Data(code[..<Int(count)]).base64EncodedString()
    }
}
