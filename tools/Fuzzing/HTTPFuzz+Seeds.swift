import PealHub

extension HTTPFuzz {
    static let words = [
        "notification", "recipients", "external_id", "email", "custom_attributes", "title", "content", "category",
        "topic",
        "action_url", "interests", "users", "apns", "aps", "alert", "fcm", "web", "time_to_live", "data", "deep_link",
        "page=", "per_page=", "after=", "read=", "seen=", "archived=", "categories[]=", "position=", "inbox=", "%2F",
        "%00",
        "\\xFF", "mary",
    ]

    /// Requests of every family, for every route: what fits one is nonsense for another.
    static func seeds() -> [(name: String, bytes: [UInt8])] {
        let bodies: [(String, String)] = [
            (
                "send",
                #"{"notification":{"title":"T","content":"C","category":"billing","topic":"t","action_url":"https://a.b/","custom_attributes":{"a":[1,2.5,null]},"recipients":[{"external_id":"mary","email":"mary@example.org","first_name":"M","custom_attributes":{}},{"email":"a@b.c"}]}}"#
            ),
            (
                "interests",
                #"{"interests":["donuts","a"],"apns":{"aps":{"alert":{"title":"T","body":"B"}},"data":{"category":"billing"}},"fcm":{"notification":{"title":"T","body":"B"},"time_to_live":60,"data":{}},"web":{"notification":{"title":"T","body":"B","deep_link":"https://a.b"},"time_to_live":0}}"#
            ),
            ("users", #"{"users":["mary","a"],"apns":{"aps":{"alert":"text"}}}"#),
            ("token", #"{"token":"0123","platform":"apns","device_token":{"token":"t"},"apns":{"device_token":"t"}}"#),
            (
                "preferences",
                #"{"notification_preferences":{"categories":[{"slug":"billing","channels":[{"slug":"email","enabled":false}]}]},"categories":[{"slug":"billing","label":"B","channels":[{"slug":"email","label":"E","enabled":true}]}]}"#
            ),
            ("empty", ""),
        ]
        let queries: [(String, String)] = [
            ("list", "page=1&per_page=10&read=false&seen=true&archived=0&categories[]=billing&topics=a,b&after=9"),
            ("standing", "inbox=x&position=3"), ("none", ""),
        ]
        var seeds: [(name: String, bytes: [UInt8])] = []
        for route in shared.routePatterns.indices {
            let parameters = [UInt8](repeating: 0, count: shared.routePatterns[route].split(separator: "{").count - 1)
            let start = [UInt8(route), 0] + parameters
            for (name, body) in bodies {
                seeds.append(("body-\(route)-\(name)", start + [UInt8(ascii: "\n")] + Array(body.utf8)))
            }
            for (name, query) in queries {
                seeds.append(("query-\(route)-\(name)", start + Array(query.utf8) + [UInt8(ascii: "\n")]))
            }
        }
        return seeds
    }

    private var routePatterns: [String] { hub.routes.map(\.pattern) }
}
