package import PealModel

/// A user's JSON web token as the Beams SDKs make it: HS256 with the project's secret.
package struct UserToken: Sendable, Equatable {
    /// Why a token is refused; an open set. Never contains the token.
    package struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        /// A stable name.
        package let code: String
        /// A sentence.
        package let message: String
        /// The sentence.
        package var description: String { message }

        /// Not three parts of base64url with JSON objects in them, or longer than 8 KiB.
        package static let malformed = Refusal(code: "malformed_token", message: "The token is not a JSON web token.")
        /// `alg` is anything but HS256, or `crit` asks for what we do not know.
        package static let algorithm = Refusal(
            code: "unsupported_algorithm", message: "The token must be signed with HS256.")
        /// The signature is not the secret's.
        package static let signature = Refusal(code: "bad_signature", message: "The token's signature is wrong.")
        /// `exp` is missing or no number.
        package static let noExpiry = Refusal(code: "no_expiry", message: "The token has no expiry time.")
        /// `exp` has passed.
        package static let expired = Refusal(code: "expired_token", message: "The token has expired.")
        /// `nbf` has not come yet.
        package static let notYetValid = Refusal(code: "not_yet_valid", message: "The token is not valid yet.")
        /// `iss` is not the issuer expected.
        package static let issuer = Refusal(code: "wrong_issuer", message: "The token is for another instance.")
        /// `sub` is missing, empty or no string.
        package static let noSubject = Refusal(code: "no_subject", message: "The token names no user.")
    }

    /// `sub`: the user's id; not empty. Its length is for the caller to limit.
    package let subject: String
    /// `exp` in unix seconds.
    package let expires: Double
    /// All claims.
    package let claims: JSON

    /// Verifies a token and reads it. Any thread; does not block.
    ///
    /// - Parameters:
    ///   - token: the compact form.
    ///   - key: the project's secret as it is given out (its text's bytes, not decoded from hexadecimal).
    ///   - issuers: the values of `iss` that are allowed, letter for letter; an `https://` in front is ignored on both sides.
    ///   - now: unix seconds. There is no leeway, and no cap on how long a token may live.
    package init(
        verifying token: String, key: [UInt8], issuers: [String], now: Double
    ) throws(Refusal) {
        guard token.utf8.count <= 8192 else { throw .malformed }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let code = Base64.url.decode(parts[2]) else { throw .malformed }
        let header = try Self.object(parts[0])
        // The algorithm is ours to say, not the token's: "none" and the rest never reach the check of a signature.
        guard header["alg"]?.stringValue == "HS256", header["crit"] == nil else { throw .algorithm }
        guard HMACSHA256.isValid(code, for: Array("\(parts[0]).\(parts[1])".utf8), key: key) else { throw .signature }
        claims = try Self.object(parts[1])
        guard let expires = Self.seconds(claims["exp"]) else { throw .noExpiry }
        guard now < expires else { throw .expired }
        if let notBefore = claims["nbf"] {
            guard let notBefore = Self.seconds(notBefore), now >= notBefore else { throw .notYetValid }
        }
        guard let issuer = claims["iss"]?.stringValue,
            issuers.contains(where: { Self.bare($0).elementsEqual(Self.bare(issuer)) })
        else { throw .issuer }
        guard let subject = claims["sub"]?.stringValue, !subject.isEmpty else { throw .noSubject }
        self.subject = subject
        self.expires = expires
    }

    private static func object(_ part: String) throws(Refusal) -> JSON {
        guard let bytes = Base64.url.decode(part), let json = try? JSON(bytes[...]), json.objectValue != nil else {
            throw .malformed
        }
        return json
    }

    /// A numeric date, which may have a fraction.
    private static func seconds(_ value: JSON?) -> Double? {
        guard case .number(let text)? = value, let seconds = Double(text), seconds.isFinite else { return nil }
        return seconds
    }

    private static func bare(_ issuer: String) -> Substring.UTF8View {
        issuer.hasPrefix("https://") ? issuer.dropFirst(8).utf8 : issuer[...].utf8
    }
}
