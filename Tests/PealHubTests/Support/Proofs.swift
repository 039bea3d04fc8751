import PealModel

@testable import PealHub

/// What users prove themselves with, made as a back end makes it.
enum Proofs {
    /// base64(HMAC-SHA256(secret, subject)).
    static func hmac(_ subject: String, _ secret: String) -> String {
        Base64.standard.encode(HMACSHA256.code(Array(subject.utf8), key: Array(secret.utf8)))
    }

    /// A user token that ends at a time in unix seconds.
    static func token(
        _ user: String, instance: String, secret: String, expires: Int64, algorithm: String = "HS256"
    ) -> String {
        let claims = #"{"iss":"https://\#(instance).pushnotifications.pusher.com","sub":"\#(user)","exp":\#(expires)}"#
        let signed = [#"{"alg":"\#(algorithm)","typ":"JWT"}"#, claims].map { Base64.url.encode(Array($0.utf8)) }
            .joined(separator: ".")
        return signed + "." + Base64.url.encode(HMACSHA256.code(Array(signed.utf8), key: Array(secret.utf8)))
    }

    /// The value of an `Authorization` header.
    static func basic(_ name: String, _ secret: String) -> String {
        "Basic " + Base64.standard.encode(Array("\(name):\(secret)".utf8))
    }
}
