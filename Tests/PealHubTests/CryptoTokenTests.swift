import PealModel
import Testing

@testable import PealHub

@Suite struct CryptoTokenTests {
    private let key = Array("0123456789abcdef".utf8)
    private let issuer = "https://11111111-2222.pushnotifications.pusher.com"

    private func token(
        header: String = #"{"alg":"HS256","typ":"JWT"}"#, claims: String, key: [UInt8]? = nil
    ) -> String {
        let signed = [header, claims].map { Base64.url.encode(Array($0.utf8)) }.joined(separator: ".")
        return signed + "." + Base64.url.encode(HMACSHA256.code(Array(signed.utf8), key: key ?? self.key))
    }

    private func code(_ token: String, now: Double = 1000) -> String {
        do throws(UserToken.Refusal) {
            _ = try UserToken(verifying: token, key: key, issuers: [issuer], now: now)
            return "accepted"
        } catch {
            return error.code
        }
    }

    private let good =
        #"{"sub":"user one","exp":2000,"iss":"https://11111111-2222.pushnotifications.pusher.com"}"#

    @Test func `a token of the published example is accepted`() throws {
        // Signed by another implementation: the example of jwt.io, key "your-256-bit-secret"; it has no expiry.
        let published =
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ"
            + ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
        let refusal = #expect(throws: UserToken.Refusal.self) {
            try UserToken(verifying: published, key: Array("your-256-bit-secret".utf8), issuers: [], now: 0)
        }
        #expect(refusal == .noExpiry)
        #expect(code(published) == "bad_signature")
    }

    @Test func `a good token names its user`() throws {
        let verified = try UserToken(verifying: token(claims: good), key: key, issuers: [issuer], now: 1999.5)
        #expect(verified.subject == "user one")
        #expect(verified.expires == 2000)
        #expect(verified.claims["sub"]?.stringValue == "user one")
    }

    @Test func `the issuer is accepted with or without https`() {
        let bare = good.replacing("https://", with: "")
        #expect(code(token(claims: bare)) == "accepted")
        #expect(code(token(claims: bare.replacing("2222", with: "2223"))) == "wrong_issuer")
        #expect(code(token(claims: #"{"sub":"a","exp":2000}"#)) == "wrong_issuer")
        #expect(code(token(claims: good.replacing("https://", with: "http://"))) == "wrong_issuer")
    }

    @Test(
        arguments: [
            #"{"alg":"none"}"#, #"{"alg":"None"}"#, #"{"alg":"HS384"}"#, #"{"alg":"RS256"}"#, #"{"typ":"JWT"}"#,
            #"{"alg":"HS256","crit":["b64"],"b64":false}"#, #"{"alg":["HS256"]}"#, #"{"alg":"hs256"}"#,
        ])
    func `any algorithm but HS256 is refused even with a right signature`(header: String) {
        #expect(code(token(header: header, claims: good)) == "unsupported_algorithm")
    }

    @Test func `an unsigned or changed token is refused`() {
        let whole = token(claims: good)
        let parts = whole.split(separator: ".").map(String.init)
        #expect(code("\(parts[0]).\(parts[1]).") == "bad_signature")
        #expect(code("\(parts[0]).\(parts[1])") == "malformed_token")
        #expect(code(token(claims: good, key: [1])) == "bad_signature")
        let other = Base64.url.encode(Array(good.replacing("user one", with: "user two").utf8))
        #expect(code("\(parts[0]).\(other).\(parts[2])") == "bad_signature")
        #expect(code(whole + ".x") == "malformed_token")
        #expect(code(whole + "=") == "malformed_token")
        #expect(code(token(header: "[]", claims: good)) == "malformed_token")
        #expect(code(token(claims: "x")) == "malformed_token")
        #expect(code("") == "malformed_token")
        #expect(code(String(repeating: "a", count: 9000)) == "malformed_token")
    }

    @Test func `times are checked to the second, fractions included, and long lives are fine`() {
        #expect(code(token(claims: good), now: 2000) == "expired_token")
        #expect(code(token(claims: good.replacing("2000", with: "2000.5")), now: 2000) == "accepted")
        #expect(code(token(claims: good.replacing("2000", with: "99999999999"))) == "accepted")
        for wrong in [#""2000""#, "null", "true", "1e999"] {
            #expect(code(token(claims: good.replacing("2000", with: wrong))) == "no_expiry", "\(wrong)")
        }
        #expect(code(token(claims: good.replacing("2000", with: #"2000,"nbf":1001"#))) == "not_yet_valid")
        #expect(code(token(claims: good.replacing("2000", with: #"2000,"nbf":1000"#))) == "accepted")
    }

    @Test func `a token without a user is refused`() {
        for wrong in [#""""#, "1", "null"] {
            #expect(code(token(claims: good.replacing(#""user one""#, with: wrong))) == "no_subject")
        }
    }
}
