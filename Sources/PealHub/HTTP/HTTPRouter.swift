/// One row of the routing table.
package struct HTTPRoute: Sendable {
    /// The method; a GET route also serves HEAD.
    package let method: HTTPMethod
    /// The path: literal segments and `{name}` parameters, as in `/users/{id}/devices`. A `{name*}` at the end takes all that is left, at
    /// least one segment, with its slashes.
    package let pattern: String
    /// The largest body in bytes, nil for the server's limit.
    package let bodyLimit: Int?
    /// Answers the request; see `HTTPHandler.handle`.
    package let handle: @Sendable (HTTPRequest, HTTPResponder) -> Void

    /// A row. A pattern that does not begin with `/` is a programming error.
    package init(
        _ method: HTTPMethod, _ pattern: String, bodyLimit: Int? = nil,
        handle: @escaping @Sendable (HTTPRequest, HTTPResponder) -> Void
    ) {
        precondition(pattern.hasPrefix("/"), "A pattern begins with a slash")
        self.method = method
        self.pattern = pattern
        self.bodyLimit = bodyLimit
        self.handle = handle
    }
}

/// Finds the route of a request by method and path.
///
/// Literal segments are compared with the decoded ones, letter for letter; a parameter takes any segment but an empty
/// one. Where several patterns match, a literal wins over a parameter, from the left, whatever the method: as in OpenAPI, the path is found
/// first. An unknown path is 404, a known one
/// with another method 405 with `Allow`, both in the shape of the surface the path belongs to. Immutable; any thread.
package struct HTTPRouter: HTTPHandler {
    private enum Part: Hashable {
        case literal(String)
        case parameter
        /// All that is left of the path.
        case rest
    }
    private struct Path {
        let parts: [Part]
        var routes: [(route: HTTPRoute, parameters: [String: Int])]
    }
    /// The known paths by number of segments, the most specific first.
    private let paths: [Int: [Path]]
    /// Those that end with a rest; they serve what no other path does.
    private let openPaths: [Path]

    /// A table. Two routes with the same method and shape are a programming error.
    package init(_ routes: [HTTPRoute]) {
        var paths: [Int: [Path]] = [:]
        for route in routes {
            let (parts, parameters) = Self.parse(route.pattern)
            var candidates = paths[parts.count] ?? []
            if let index = candidates.firstIndex(where: { $0.parts == parts }) {
                let taken = candidates[index].routes.contains { $0.route.method == route.method }
                precondition(!taken, "Two routes for \(route.method.rawValue) \(route.pattern)")
                candidates[index].routes.append((route, parameters))
            } else {
                candidates.append(Path(parts: parts, routes: [(route, parameters)]))
            }
            paths[parts.count] = candidates
        }
        openPaths = paths.values.flatMap { $0 }.filter { $0.parts.last == .rest }
        self.paths = paths.mapValues { list in
            list.filter { $0.parts.last != .rest }.sorted { Self.isMoreSpecific($0.parts, $1.parts) }
        }
    }

    /// The limit of the route that would serve the request.
    package func bodyLimit(for head: HTTPRequestHead) -> Int? {
        try? find(head).route.bodyLimit
    }

    /// The pattern of the route that would serve the request; nil for none.
    package func pattern(for head: HTTPRequestHead) -> String? {
        try? find(head).route.pattern
    }

    /// Calls the route, or answers 404 or 405.
    package func handle(_ request: HTTPRequest, respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let (route, parameters) = try find(request.head)
            var request = request
            request.parameterIndexes = parameters
            request.takesRest = route.pattern.hasSuffix("*}")
            route.handle(request, respond)
        } catch {
            respond.send(response(to: error, target: request.target.raw))
        }
    }

    /// A failure in the shape of the surface that the target belongs to.
    package func response(to failure: HTTPFailure, target: String) -> HTTPResponse {
        HTTPSurface.of(target: target).response(to: failure)
    }

    private func find(_ head: HTTPRequestHead) throws(HTTPFailure) -> (route: HTTPRoute, parameters: [String: Int]) {
        let segments = head.target.segments
        var matches = (paths[segments.count] ?? []).filter { Self.matches($0.parts, segments) }
        if matches.isEmpty {
            matches = openPaths.filter { $0.parts.count <= segments.count && Self.matches($0.parts, segments) }
        }
        // The most specific is the first.
        guard let path = matches.first else { throw .notFound }
        for wanted in head.method == .head ? [HTTPMethod.head, .get] : [head.method] {
            if let found = path.routes.first(where: { $0.route.method == wanted }) { return found }
        }
        var allowed = Set(path.routes.map(\.route.method.rawValue))
        if allowed.contains("GET") { allowed.insert("HEAD") }
        throw .methodNotAllowed(allowed.sorted().map { HTTPMethod(rawValue: $0) })
    }

    private static func matches(_ parts: [Part], _ segments: [String]) -> Bool {
        zip(parts, segments).allSatisfy { part, segment in
            // Compared as octets: `String` takes differently composed letters for equal.
            switch part {
            case .literal(let text): text.utf8.elementsEqual(segment.utf8)
            case .parameter: !segment.isEmpty
            case .rest: segments.count > parts.count || !segment.isEmpty
            }
        }
    }

    private static func parse(_ pattern: String) -> ([Part], [String: Int]) {
        var parts: [Part] = []
        var parameters: [String: Int] = [:]
        for segment in pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            if segment.hasPrefix("{"), segment.hasSuffix("}") {
                precondition(parts.last != .rest, "Nothing follows a rest, in \(pattern)")
                let isRest = segment.hasSuffix("*}")
                let name = segment.dropFirst().dropLast(isRest ? 2 : 1)
                let taken = parameters.updateValue(parts.count, forKey: String(name))
                precondition(taken == nil, "A parameter twice in \(pattern)")
                parts.append(isRest ? .rest : .parameter)
            } else {
                parts.append(.literal(String(segment)))
            }
        }
        return (parts, parameters)
    }

    private static func isMoreSpecific(_ left: [Part], _ right: [Part]) -> Bool {
        for (left, right) in zip(left, right) where (left == .parameter) != (right == .parameter) {
            return right == .parameter
        }
        return false
    }
}
