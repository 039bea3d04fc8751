import Testing

@testable import PealHub

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite struct CryptoTests {
    @Test(
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func `SHA-256 gives the published digests, at once and in pieces`(text: String, digest: String) {
        #expect(Hexadecimal.encode(SHA256.hash(bytes(text))) == digest)
        var hasher = SHA256Hasher()
        for _ in 0..<2 {
            for byte in text.utf8 { hasher.update([byte]) }
            #expect(Hexadecimal.encode(hasher.finish()) == digest)
        }
    }

    @Test func `a link is the first 8 bytes of the digest of the previous link and the entry`() {
        var hasher = SHA256Hasher()
        var link: UInt64 = 0
        for number in 0..<100 {
            let entry = bytes(String(repeating: "x", count: number * 5))
            let previous = withUnsafeBytes(of: link.bigEndian) { Array($0) }
            link = hasher.link(after: link, entry: entry[...])
            let expected = Hexadecimal.encode(SHA256.hash(previous + entry).prefix(8))
            #expect(Hexadecimal.encode(withUnsafeBytes(of: link.bigEndian) { Array($0) }) == expected)
        }
    }

    @Test func `HMAC gives the published codes`() {
        // RFC 4231, case 2 and 6; RFC 2202, case 2.
        let message = bytes("what do ya want for nothing?")
        let code = HMACSHA256.code(message, key: bytes("Jefe"))
        #expect(Hexadecimal.encode(code) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        let long = HMACSHA256.code(
            bytes("Test Using Larger Than Block-Size Key - Hash Key First"), key: [UInt8](repeating: 0xAA, count: 131))
        #expect(Hexadecimal.encode(long) == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
        #expect(
            Hexadecimal.encode(HMACSHA1.code(message, key: bytes("Jefe")))
                == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
        #expect(
            Hexadecimal.encode(HMACSHA256.code([], key: []))
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test func `a code is valid for its message and key only`() {
        let code = HMACSHA256.code(bytes("user"), key: bytes("key"))
        #expect(HMACSHA256.isValid(code, for: bytes("user"), key: bytes("key")))
        #expect(!HMACSHA256.isValid(code, for: bytes("usex"), key: bytes("key")))
        #expect(!HMACSHA256.isValid(code, for: bytes("user"), key: bytes("kex")))
        #expect(!HMACSHA256.isValid(Array(code.dropLast()), for: bytes("user"), key: bytes("key")))
        #expect(!HMACSHA256.isValid([], for: bytes("user"), key: bytes("key")))
    }

    @Test func `constant-time comparison tells every difference`() {
        let secret = RandomBytes.make(32)
        #expect(ConstantTime.areEqual(secret, Array(secret)))
        for index in secret.indices {
            var other = secret
            other[index] ^= 1
            #expect(!ConstantTime.areEqual(secret, other))
        }
        #expect(!ConstantTime.areEqual(secret, secret + [0]))
        #expect(ConstantTime.areEqual([] as [UInt8], []))
        #expect(!ConstantTime.areEqual("é", "e\u{301}"))
    }

    @Test func `a secret matches what is stored of it and nothing else`() {
        let secret = Secret.make()
        #expect(secret.utf8.count == 64)
        #expect(Hexadecimal.decode(secret)?.count == 32)
        #expect(Secret.make() != secret)
        #expect(Secret.matches(secret, stored: Secret.stored(secret)))
        #expect(!Secret.matches(secret.uppercased() + "0", stored: Secret.stored(secret)))
        #expect(!Secret.matches("", stored: Secret.stored(secret)))
        #expect(!Secret.matches(secret, stored: []))
    }

    @Test func `hexadecimal text reads back, in either case, and refuses the rest`() {
        let all = (0...255).map { UInt8($0) }
        #expect(Hexadecimal.decode(Hexadecimal.encode(all)) == all)
        #expect(Hexadecimal.decode("aBfF00") == [0xAB, 0xFF, 0])
        #expect(Hexadecimal.decode("") == [])
        for wrong in ["a", "0g", "0x00", " 00", "é0"] { #expect(Hexadecimal.decode(wrong) == nil) }
    }

    @Test(
        arguments: [
            ("", "", ""), ("f", "Zg==", "Zg"), ("fo", "Zm8=", "Zm8"), ("foo", "Zm9v", "Zm9v"),
            ("foob", "Zm9vYg==", "Zm9vYg"), ("fooba", "Zm9vYmE=", "Zm9vYmE"), ("foobar", "Zm9vYmFy", "Zm9vYmFy"),
        ])
    func `base 64 gives the published text`(text: String, standard: String, url: String) {
        #expect(Base64.standard.encode(bytes(text)) == standard)
        #expect(Base64.url.encode(bytes(text)) == url)
        #expect(Base64.standard.decode(standard) == bytes(text))
        #expect(Base64.url.decode(url) == bytes(text))
    }

    @Test func `base 64 reads back every byte and has one spelling`() {
        for count in 0..<70 {
            let random = RandomBytes.make(count)
            #expect(Base64.standard.decode(Base64.standard.encode(random)) == random)
            #expect(Base64.url.decode(Base64.url.encode(random)) == random)
        }
        #expect(Base64.standard.encode([0xFB, 0xFF]) == "+/8=")
        #expect(Base64.url.encode([0xFB, 0xFF]) == "-_8")
        for wrong in ["Zg", "Zg=", "Zg===", "Zh==", "Z===", "====", "Zm9v\n", "Zm9v====", "Zm=v", "-_8="] {
            #expect(Base64.standard.decode(wrong) == nil, "\(wrong)")
        }
        for wrong in ["Zg==", "Zh", "Z", "+/8", "Zm 9"] { #expect(Base64.url.decode(wrong) == nil, "\(wrong)") }
    }
}
