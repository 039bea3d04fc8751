import PealModel
import Testing

@testable import PealHub

/// How many requests, connections and waiting requests there may be, and that nobody else is held up.
@Suite struct HubLimitsRateTests {
    @Test func `requests of an address over its rate are 429 with Retry-After, healthy again when told`() throws {
        let hub = try TestHub { $0.limits.requestsPerAddress = 5 }
        let client = try hub.client()
        // Ten at once. The bucket fills up meanwhile, so a few more pass; a hundred cannot.
        var passed = 0
        var last: RawHTTPResponse?
        while passed < 100 {
            let answer = try client.get("/config")
            if answer.status != 200 {
                last = answer
                break
            }
            passed += 1
        }
        let refused = try #require(last)
        #expect(passed >= 10 && refused.status == 429 && refused["Retry-After"] == "1", "\(passed)")
        #expect(refused.json["error"]?["code"]?.stringValue == "too_many_requests")
        // In the shape of each surface.
        #expect(try client.get("/notifications").json["errors"] != nil)
        let deadline = ContinuousClock.now + .seconds(10)
        while try client.get("/healthz").status != 200 {
            guard ContinuousClock.now < deadline else { throw RawHTTPError(what: "never let through again") }
        }
    }

    @Test func `who uses up a project's public key does not hold up its back end`() throws {
        let hub = try TestHub { $0.limits.requestsPerProject = 5 }
        let client = try hub.client()
        var refused = false
        for _ in 0..<200 where !refused {
            refused = try client.get("/notifications", headers: hub.user("mary")).status == 429
        }
        #expect(refused)
        let published = try client.post(
            hub.publishPath("users"), #"{"users":["u"],"apns":{"aps":{"alert":"t"}}}"#, headers: hub.bearer)
        #expect(published.status == 200)
        // Nor who asks in no project's name.
        #expect(try client.get("/config").status == 200)
        #expect(try client.get("/metrics").text.contains("peal_limited_total 1\n"))
    }

    @Test func `a bucket gives its burst, then its rate, and tells how long to wait`() {
        let start = ContinuousClock.now
        var bucket = TokenBucket(rate: 10, burst: 2, now: start)
        for _ in 0..<20 { #expect(bucket.take(now: start) == nil) }
        let wait = bucket.take(now: start)
        #expect(wait.map { abs($0 - 0.1) < 0.001 } == true && !bucket.isFull(now: start))
        #expect(bucket.take(now: start + .milliseconds(101)) == nil)
        #expect(bucket.take(now: start + .milliseconds(101)) != nil)
        // A clock that goes back gives nothing.
        #expect(bucket.take(now: start) != nil)
        #expect(bucket.isFull(now: start + .seconds(3)))
    }

    @Test func `buckets of many keys take no more memory than they may, and one key does not touch another's`() {
        let start = ContinuousClock.now
        var buckets = TokenBuckets<Int>(rate: 1, burst: 1, remembered: 100)
        for key in 0..<10_000 {
            #expect(buckets.take(key, now: start) == nil)
            #expect(buckets.count <= 100)
        }
        #expect(buckets.take(9_999, now: start) != nil && buckets.take(10_000, now: start) == nil)
        var none = TokenBuckets<Int>(rate: 0, burst: 1, remembered: 1)
        for _ in 0..<100 { #expect(none.take(1, now: start) == nil) }
        #expect(none.count == 0)
    }

    // MARK: Connections

    @Test func `a connection over the number waits and is served when another one goes`() throws {
        let hub = try TestHub { $0.limits.connections = 2 }
        let first = try hub.client()
        var second: RawHTTPClient? = try hub.client()
        #expect(try first.get("/healthz").status == 200 && second?.get("/healthz").status == 200)
        let third = try hub.client()
        try third.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try first.get("/healthz").status == 200)
        second = nil
        #expect(try third.response().status == 200)
    }

    @Test func `a connection over the number of its address is closed, and the next is served when one goes`()
        throws
    {
        let hub = try TestHub { $0.limits.connectionsPerAddress = 2 }
        let first = try hub.client()
        var second: RawHTTPClient? = try hub.client()
        #expect(try first.get("/healthz").status == 200 && second?.get("/healthz").status == 200)
        #expect(try hub.client().isClosed())
        #expect(try first.get("/healthz").status == 200)
        second = nil
        try until("served again") { (try? hub.client().get("/healthz").status) == 200 }
    }
}
