import PealModel

extension FuzzTarget {
    /// Every route of the hub, from the decoded request on: targets, queries, headers and bodies over a store in memory. An input is
    /// up to four requests, parted by a byte 0xFF; see ``HTTPFuzz``. The answer is one that schema/rest/openapi.yaml has, in JSON
    /// where it says so, and none of 500 and above.
    package static let http = FuzzTarget(
        name: "http", seeds: HTTPFuzz.seeds,
        dictionary: JSONWords.all + HTTPFuzz.words, replays: 1_000, run: { HTTPFuzz.shared.run($0) })
}
