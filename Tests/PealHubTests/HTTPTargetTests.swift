import Testing

@testable import PealHub

@Suite struct HTTPTargetTests {
    @Test(
        arguments: [
            ("/users/a%2Fb", "a/b"), ("/users/a%2F..%2Fb", "a/../b"), ("/users/a;b", "a;b"), ("/users/a&b=c", "a&b=c"),
            ("/users/a+b", "a+b"), ("/users/%41", "A"), ("/users/%2541", "%41"), ("/users/..", ".."),
            ("/users/%C3%A9", "é"), ("/users/a%3Fb?x=y", "a?b"), ("/users/a%20b", "a b"), ("/users/me%2F", "me/"),
            ("/plus/a+b%2Bc", "a b+c"), ("http://elsewhere/users/x", "x"),
        ])
    func `an id in a path reaches the handler decoded exactly once`(target: String, id: String) throws {
        let server = try HTTPTestServer()
        let response = try server.client().request("GET", target)
        #expect(response.status == 200)
        #expect(response.text == id)
    }

    @Test(arguments: [
        "/users/a%00b", "/users/%", "/users/%4", "/users/%zz", "/users/%+1", "/users/%C3", "/users/%ED%A0%80",
        "/users/x?y=%00", "/users/x?y=%", "/users/a#b", "*", "users/a", "/users/\u{1}",
    ])
    func `a target that cannot be decoded is 400 and the connection stays usable`(target: String) throws {
        let client = try HTTPTestServer().client()
        let response = try client.request("GET", target)
        #expect(response.status == 400)
        #expect(response.text.hasPrefix(#"{"errors":[{"code":"#))
        #expect(try client.request("GET", "/users/b").text == "b")
    }

    @Test func `raw octets that are no UTF-8 are 400`() throws {
        let client = try HTTPTestServer().client()
        try client.send(Array("GET /users/".utf8) + [0xFF, 0xFE] + Array(" HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        #expect(try client.response().status == 400)
    }

    @Test func `a NUL in the request line never shortens an id`() throws {
        let client = try HTTPTestServer().client()
        try client.send(Array("GET /users/a".utf8) + [0] + Array("b HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        #expect(try client.response().status == 400)
        let other = try HTTPTestServer().client()
        try other.send(Array("GET /users/a?x".utf8) + [0] + Array("b HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        #expect(try other.response().status == 400)
    }

    @Test func `empty segments are kept and a parameter never takes one`() throws {
        let client = try HTTPTestServer().client()
        for target in ["/users/", "//users/a", "/users//a", "/users/a/", "/"] {
            #expect(try client.request("GET", target).status == 404, "\(target)")
        }
        #expect(try HTTPTarget(Array("/a//b/".utf8)).segments == ["a", "", "b", ""])
        #expect(try HTTPTarget(Array("/".utf8)).segments == [""])
        #expect(try HTTPTarget(Array("http://host".utf8)).segments == [""])
    }

    @Test func `query items are decoded as a form and keep their order`() throws {
        let client = try HTTPTestServer().client()
        let response = try client.request("GET", "/query?a=1&b[]=x&b%5B%5D=y+z&&c&d=%2B=&a=2")
        #expect(response.text == "a=1|b[]=x|b[]=y z|c=|d=+=|a=2")
        let query = try HTTPTarget(Array("/?k=1&k[]=2&k=3&kk=4".utf8)).query
        #expect(query.values("k") == ["1", "2", "3"])
        #expect(query["kk"] == "4")
        #expect(query["none"] == nil)
    }
}
