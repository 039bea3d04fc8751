import Foundation
import PealHub
import PealModel
import PealReplica
import Synchronization
import Testing

@testable import Peal

/// The document on interests from its beginning to its end: each sample, and what it says of it.
@Suite(.timeLimit(.minutes(2)))
struct SeedInterests {
    /// An app's delegate as the document writes it, with a token by itself.
    private func app(_ bench: Bench, _ name: String, hub: String? = nil) async throws -> (PushNotifications, PushApp) {
        let beamsClient = bench.push()
        let app = PushApp(beamsClient)
        try beamsClient.start(
            hub: hub ?? bench.url, instanceId: bench.hub.project.instance, directory: bench.directory + "/" + name)
        beamsClient.registerForRemoteNotifications()
        #expect(await eventually { app.tokens.count == 1 })
        return (beamsClient, app)
    }

    @Test func `shared is one object, and works after a start with nothing but the instance's id`() async throws {
        let bench = try Bench()
        let beamsClient = PushNotifications.shared
        #expect(beamsClient === PushNotifications.shared)
        // Before the start nothing works, and nothing traps.
        #expect(beamsClient.getDeviceInterests() == [])
        #expect(throws: PealError.self) { try beamsClient.addDeviceInterest(interest: "apple") }
        PushNotifications.hub = nil
        beamsClient.start(instanceId: bench.hub.project.instance)
        #expect(beamsClient.status.state == .stopped && beamsClient.status.lastError?.contains("hub") == true)

        PushNotifications.hub = bench.url
        PushNotifications.directory = bench.directory + "/shared"
        beamsClient.start(instanceId: bench.hub.project.instance)
        let inbox = try #require(beamsClient.deviceInbox)
        beamsClient.start(instanceId: bench.hub.project.instance)
        #expect(beamsClient.deviceInbox === inbox, "twice is once")
        try beamsClient.addDeviceInterest(interest: "apple")
        #expect(beamsClient.getDeviceInterests() == ["apple"])
        #expect(await beamsClient.settled())
        try await beamsClient.stop()
        PushNotifications.hub = nil
        PushNotifications.directory = nil
    }

    @Test func `registering gives the delegate a token, the same one at each launch, and the hub gets it`() async throws
    {
        let bench = try Bench()
        let (beamsClient, app) = try await app(bench, "a")
        #expect(await beamsClient.settled())
        let device = try #require(try await beamsClient.device())
        #expect(try await bench.interests(of: device) == [], "the device is one of 'apns' now")
        beamsClient.registerForRemoteNotifications(options: [.alert, .sound, .badge])
        #expect(await eventually { app.tokens.count == 2 })
        beamsClient.close()
        let (_, again) = try await self.app(bench, "a")
        #expect(Set(app.tokens + again.tokens).count == 1)

        let early = bench.push()
        let refused = PushApp(early)
        early.registerForRemoteNotifications()
        #expect(await eventually { refused.failures == 1 })
    }

    @Test func `stop forgets the interests here and the device on the hub, and then calls back once`() async throws {
        let bench = try Bench()
        let (beamsClient, app) = try await app(bench, "a")
        try beamsClient.addDeviceInterest(interest: "apple")
        #expect(beamsClient.getDeviceInterests() == ["apple"])
        #expect(await beamsClient.settled())
        let device = try #require(try await beamsClient.device())
        #expect(try await bench.interests(of: device) == ["apple"])

        let calls = Mutex(0)
        beamsClient.stop {
            calls.withLock { $0 += 1 }
        }
        #expect(beamsClient.getDeviceInterests() == [])
        #expect(await eventually { calls.withLock { $0 } == 1 })
        #expect(try await bench.interests(of: device) == nil, "deleted when the closure runs")
        #expect(throws: PealError.self) { try beamsClient.addDeviceInterest(interest: "apple") }
        try await bench.publish("for nobody", interests: ["apple"])

        // Start, register and subscribe again.
        try beamsClient.start(
            hub: bench.url, instanceId: bench.hub.project.instance, directory: bench.directory + "/a")
        beamsClient.registerForRemoteNotifications()
        #expect(beamsClient.getDeviceInterests() == [])
        try beamsClient.addDeviceInterest(interest: "apple")
        #expect(await beamsClient.settled())
        #expect(try await beamsClient.device() != device)
        try await bench.publish("again", interests: ["apple"])
        #expect(await eventually { app.titles == ["again"] })
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func `interests are there between runs, with and without a hub`() async throws {
        let bench = try Bench()
        let (online, _) = try await app(bench, "a")
        try online.setDeviceInterests(interests: ["pear", "apple"])
        #expect(await online.settled())
        online.close()
        let offline = try bench.started("a", hub: "http://127.0.0.1:1")
        #expect(offline.getDeviceInterests() == ["apple", "pear"])
        try offline.addDeviceInterest(interest: "plum")
        try offline.removeDeviceInterest(interest: "pear")
        #expect(offline.getDeviceInterests() == ["apple", "plum"])
        offline.close()
        let again = try bench.started("a")
        #expect(again.getDeviceInterests() == ["apple", "plum"])
        #expect(await again.settled())
        #expect(try await bench.interests(of: try #require(try await again.device())) == ["apple", "plum"])
    }

    @Test func `the interests of two devices are their own, and each gets what is published to its own`() async throws {
        let bench = try Bench()
        let (one, oneApp) = try await app(bench, "a")
        let (two, twoApp) = try await app(bench, "b")
        try one.setDeviceInterests(interests: ["apple", "banana"])
        try two.setDeviceInterests(interests: ["pear"])
        #expect(await one.settled())
        #expect(await two.settled())
        try await bench.publish("fruit", interests: ["apple", "pear"])
        try await bench.publish("pears", interests: ["pear"])
        #expect(await eventually { oneApp.titles == ["fruit"] && twoApp.titles == ["fruit", "pears"] })

        // A set replaces the old one.
        try one.setDeviceInterests(interests: ["banana", "orange"])
        #expect(one.getDeviceInterests() == ["banana", "orange"])
        #expect(two.getDeviceInterests() == ["pear"])
        #expect(await one.settled())
        try await bench.publish("no more", interests: ["apple"])
        try await bench.publish("oranges", interests: ["orange"])
        #expect(await eventually { oneApp.titles == ["fruit", "oranges"] })

        try? one.clearDeviceInterests()
        #expect(one.getDeviceInterests() == [])
        #expect(await one.settled())
        try await bench.publish("nothing", interests: ["banana", "orange", "pear"])
        #expect(await eventually { twoApp.titles.last == "nothing" })
        #expect(oneApp.titles.count == 2)
    }

    @Test func `an interest comes and goes, twice is once, and an absent one can be removed`() async throws {
        let bench = try Bench()
        let (beamsClient, app) = try await app(bench, "a")
        let interest = "apple"
        do {
            try beamsClient.addDeviceInterest(interest: interest)
        } catch is InvalidInterestError {
            print("Invalid interest name")
        } catch {
            print("error")
        }
        #expect(await beamsClient.settled())
        try await bench.publish("first", interests: ["apple"])
        #expect(await eventually { app.titles == ["first"] })
        try beamsClient.addDeviceInterest(interest: interest)
        #expect(beamsClient.getDeviceInterests() == ["apple"])
        try beamsClient.removeDeviceInterest(interest: interest)
        try beamsClient.removeDeviceInterest(interest: interest)
        try beamsClient.removeDeviceInterest(interest: "never")
        #expect(beamsClient.getDeviceInterests() == [])
        #expect(await eventually { app.interests == [["apple"], []] }, "and each change is told once")
        #expect(await beamsClient.settled())
        try await bench.publish("second", interests: ["apple"])
        let inbox = try #require(beamsClient.deviceInbox)
        #expect(await inbox.isSettled)
        #expect(app.titles == ["first"])
    }

    @Test func `a name that is none is refused by itself, and in a set exactly those that are none, in order`()
        async throws
    {
        let bench = try Bench()
        let beamsClient = try bench.started("a", hub: "http://127.0.0.1:1")
        let all = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=@,.;"
        let longest = String(repeating: "x", count: 164)
        try beamsClient.setDeviceInterests(interests: [all, longest, longest])
        #expect(beamsClient.getDeviceInterests() == [all, longest].sorted())
        for bad in ["", " ", "a b", "ä", "a/b", longest + "x", "a\n"] {
            #expect(throws: InvalidInterestError(interest: bad)) { try beamsClient.addDeviceInterest(interest: bad) }
            #expect(throws: InvalidInterestError(interest: bad)) { try beamsClient.removeDeviceInterest(interest: bad) }
        }
        let error = #expect(throws: MultipleInvalidInterestsError.self) {
            try beamsClient.setDeviceInterests(interests: ["b b", "good", "", "ä", "b b"])
        }
        #expect(error?.invalidInterests == ["b b", "", "ä", "b b"])
        do {
            try beamsClient.setDeviceInterests(interests: ["b b"])
        } catch is MultipleInvalidInterestsError {
            print("There are invalid interests name(s)")
        } catch {
            print("error")
        }
        #expect(beamsClient.getDeviceInterests() == [all, longest].sorted(), "nothing was changed")
    }

    @Test func `a user's notifications come to each device of theirs, until the state is cleared`() async throws {
        let bench = try Bench()
        // The app's server gives tokens to who has a password.
        let server = try HTTPServer(
            configuration: HTTPServerConfiguration(),
            handler: HTTPRouter([
                HTTPRoute(.get, "/token") { request, respond in
                    let isMary =
                        request.headers["Authorization"] == "Basic "
                        + Data("Mary:mypassword".utf8).base64EncodedString()
                    guard isMary, let user = request.query["user_id"] else { return respond.send(.empty(401)) }
                    respond.send(.json(200, Array(#"{"token":"\#(bench.token(user))"}"#.utf8)))
                }
            ]))
        try await bench.publish("long ago", to: "Mary")
        let (beamsClient, app) = try await app(bench, "a")
        let (second, secondApp) = try await self.app(bench, "b")

        // basic authentication credentials
        let userId = "Mary"
        let password = "mypassword"
        let data = "\(userId):\(password)".data(using: String.Encoding.utf8)!
        let base64 = data.base64EncodedString()
        let serverIP = "127.0.0.1"
        let tokenProvider = BeamsTokenProvider(authURL: "http://\(serverIP):\(server.boundPort)/token") {
            () -> AuthData in
            let headers = ["Authorization": "Basic \(base64)"]
            let queryParams: [String: String] = [:]
            return AuthData(headers: headers, queryParams: queryParams)
        }
        let answers = Mutex<[String]>([])
        beamsClient.setUserId(
            userId,
            tokenProvider: tokenProvider,
            completion: { error in
                guard error == nil else {
                    answers.withLock { $0.append(error.debugDescription) }
                    return
                }
                answers.withLock { $0.append("Successfully authenticated with Beams") }
            }
        )
        #expect(await eventually { !answers.withLock { $0.isEmpty } })
        #expect(answers.withLock { $0 } == ["Successfully authenticated with Beams"])
        try await second.setUserId(userId, tokenProvider: tokenProvider)
        let device = try #require(try await beamsClient.device())
        #expect(try await bench.user(of: device) == "Mary")
        try await bench.publish("My title", to: "Mary")
        #expect(await eventually { app.titles == ["My title"] && secondApp.titles == ["My title"] })

        // Logging out.
        let cleared = Mutex(0)
        beamsClient.clearAllState {
            cleared.withLock { $0 += 1 }
        }
        #expect(await eventually { cleared.withLock { $0 } == 1 })
        #expect(beamsClient.userInbox == nil)
        #expect(try await bench.interestsAPI("GET", "/device_api/v1/instances/ID/devices/apns/\(device)").status == 404)
        try await bench.publish("private", to: "Mary")
        #expect(await eventually { secondApp.titles == ["My title", "private"] })
        #expect(app.titles == ["My title"])
        // It goes on without registering again: with its token, and without interests or a user.
        try beamsClient.addDeviceInterest(interest: "apple")
        #expect(await beamsClient.settled())
        let next = try #require(try await beamsClient.device())
        #expect(next != device)
        #expect(try await bench.interests(of: next) == ["apple"])
        #expect(try await bench.user(of: next) == nil)
        try await bench.publish("apples", interests: ["apple"])
        #expect(await eventually { app.titles == ["My title", "apples"] })
        server.stop()
    }

    @Test func `the delegate hears of real changes only, whoever made them, and is held weakly`() async throws {
        let bench = try Bench()
        let (beamsClient, app) = try await app(bench, "a")
        try beamsClient.clearDeviceInterests()
        try beamsClient.addDeviceInterest(interest: "apple")
        try beamsClient.addDeviceInterest(interest: "apple")
        try beamsClient.setDeviceInterests(interests: ["apple"])
        #expect(await beamsClient.settled())
        let device = try #require(try await beamsClient.device())
        // The app's server may change them too.
        try await bench.interestsAPI(
            "PUT", "/device_api/v1/instances/ID/devices/apns/\(device)/interests", #"{"interests":["pear"]}"#)
        #expect(await eventually { app.interests == [["apple"], ["pear"]] })
        #expect(beamsClient.getDeviceInterests() == ["pear"])
        weak var forgotten: PushApp?
        do {
            let other = PushApp(beamsClient)
            forgotten = other
        }
        #expect(forgotten == nil && beamsClient.delegate == nil)
    }

    @Test func `what the library sends to itself is to be ignored, all else is the app's`() async throws {
        let bench = try Bench()
        let (beamsClient, app) = try await app(bench, "a")
        try beamsClient.addDeviceInterest(interest: "apple")
        #expect(await beamsClient.settled())
        try await bench.interestsAPI(
            "POST", "/publish_api/v1/instances/ID/publishes/interests",
            #"{"interests":["apple"],"apns":{"aps":{"content-available":1},"data":{"pusher":{"userShouldIgnore":true}}}}"#
        )
        try await bench.publish("shown", interests: ["apple"])
        #expect(await eventually { app.titles == ["shown"] })
        #expect(app.types == [.ShouldIgnore, .ShouldProcess])
        // What was handed over was opened, and the hub knows.
        let inbox = try #require(beamsClient.deviceInbox)
        let item = try #require(try await inbox.page(DeliveredQuery()).items.first)
        #expect(try await eventually { try await inbox.facts(of: item.id).map(\.event) == ["opened"] })
        #expect(await beamsClient.settled())
        #expect(try await inbox.outbox().isEmpty)
        #expect(beamsClient.handleNotification(userInfo: [:]) == .ShouldProcess)
    }
}
