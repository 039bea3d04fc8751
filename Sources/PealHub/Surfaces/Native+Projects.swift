import PealModel

/// The tenants of a hub, for who runs it. No answer but that to making and to rotating shows a secret.
extension NativeSurface {
    /// Projects of a hub at most.
    static let projectLimit = 1_000
    /// How long a replaced value stays good where nothing is said: a day.
    static let overlap: Milliseconds = 86_400_000

    var projectRoutes: [HTTPRoute] {
        let one = "/v1/projects/{instance}"
        return [
            HTTPRoute(.get, "/v1/projects") { projects($0, $1) },
            HTTPRoute(.post, "/v1/projects") { createProject($0, $1) },
            HTTPRoute(.get, one) { request, respond in
                withProject(request, respond) { (_, project, _) in Work(response: .json(200, Self.body(project))) }
            },
            HTTPRoute(.put, one) { changeProject($0, $1) },
            HTTPRoute(.delete, one) { closeProject($0, $1) },
            HTTPRoute(.post, one + "/rotate") { rotate($0, $1) },
            HTTPRoute(.post, one + "/revoke") { revoke($0, $1) },
        ]
    }

    // MARK: All of them

    private func projects(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            try checkOperator(request)
            core.perform(in: nil, as: .native, key: nil, respond) { (store, _) throws(HubStoreError) in
                var writer = JSONWriter()
                writer.beginObject()
                writer.key("projects")
                writer.beginArray()
                for project in try store.projects() { Self.write(project, withSecrets: false, to: &writer) }
                writer.endArray()
                writer.endObject()
                return Work(response: .json(200, writer.bytes))
            }
        }
    }

    private func createProject(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            try checkOperator(request)
            let said = try JSONBody(request).object("project")
            let name = try said.string("name", Project.nameLimit) ?? ""
            let requiresHMAC = try said.bool("hmac_required") ?? true
            core.perform(in: nil, as: .native, key: try RepeatKey(request, caller: "operator"), respond) {
                (store, now) throws(HubStoreError) in
                guard try store.projects().count < Self.projectLimit else {
                    throw HubStoreError(.invalid, "a hub has at most \(Self.projectLimit) projects")
                }
                var made = try store.createProject(
                    instance: Project.makeInstance(), apiKey: Project.makeKey(), secret: Secret.make(),
                    requiresHMAC: requiresHMAC, now: now)
                made.name = name
                try store.updateProject(made)
                return Work(response: .json(201, Self.body(made, withSecrets: true)), projects: [made])
            }
        }
    }

    // MARK: One

    /// Carries out work on the project that a request names, also on one that is closed; 404 where it is not there.
    private func withProject(
        _ request: HTTPRequest, _ respond: HTTPResponder,
        _ work: @escaping @Sendable (any HubStore, Project, Milliseconds) throws(HubStoreError) -> Work
    ) {
        answering(respond) { () throws(HTTPFailure) in
            try checkOperator(request)
            let instance = request.parameter("instance").lowercased()
            core.perform(in: nil, as: .native, key: try RepeatKey(request, caller: "operator"), respond) {
                (store, now) throws(HubStoreError) in
                guard let project = try store.project(instance), project.instance.utf8.elementsEqual(instance.utf8)
                else { return Work(response: Self.missing("project")) }
                return try work(store, project, now)
            }
        }
    }

    private func changeProject(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            try checkOperator(request)
            let said = try JSONBody(request).object("project")
            let name = try said.string("name", Project.nameLimit)
            let requiresHMAC = try said.bool("hmac_required")
            withProject(request, respond) { (store, project, _) throws(HubStoreError) in
                var project = project
                project.name = name ?? project.name
                project.requiresHMAC = requiresHMAC ?? project.requiresHMAC
                try store.updateProject(project)
                return Work(response: .json(200, Self.body(project)), projects: [project])
            }
        }
    }

    /// Closes a project for good. Its data stays in the file until somebody removes the file.
    private func closeProject(_ request: HTTPRequest, _ respond: HTTPResponder) {
        withProject(request, respond) { (store, project, now) throws(HubStoreError) in
            var project = project
            project.revoked = project.revoked ?? now
            try store.updateProject(project)
            return Work(response: .empty(204), projects: [project])
        }
    }

    private func rotate(_ request: HTTPRequest, _ respond: HTTPResponder) {
        answering(respond) { () throws(HTTPFailure) in
            try checkOperator(request)
            let said = try JSONBody(request)
            let key = try said.bool("key") ?? false
            let secret = try said.bool("secret") ?? false
            guard key || secret else { throw JSONBody.invalid("One of 'key' and 'secret' must be true.") }
            let most = Project.overlapLimit / 1_000
            let overlap = try said.int("overlap_seconds", 0...most).map { $0 * 1_000 } ?? Self.overlap
            withProject(request, respond) { (store, project, now) throws(HubStoreError) in
                guard project.revoked == nil else { throw HubStoreError(.conflict, "the project is closed") }
                var project = project
                project.rotate(
                    key: key ? Project.makeKey() : nil, secret: secret ? Secret.make() : nil, until: now + overlap)
                try store.updateProject(project)
                return Work(response: .json(200, Self.body(project, withSecrets: true)), projects: [project])
            }
        }
    }

    /// Ends at once what a rotation left good.
    private func revoke(_ request: HTTPRequest, _ respond: HTTPResponder) {
        withProject(request, respond) { (store, project, _) throws(HubStoreError) in
            var project = project
            project.oldAPIKey = nil
            project.oldSecret = nil
            try store.updateProject(project)
            return Work(response: .json(200, Self.body(project)), projects: [project])
        }
    }

    // MARK: Bodies

    private static func body(_ project: Project, withSecrets: Bool = false) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("project")
        write(project, withSecrets: withSecrets, to: &writer)
        writer.endObject()
        return writer.bytes
    }

    private static func write(_ project: Project, withSecrets: Bool, to writer: inout JSONWriter) {
        func time(_ key: StaticString, _ value: Milliseconds?) {
            writer.key(key)
            if let value { writer.string(ISOTime.text(value)) } else { writer.null() }
        }
        writer.beginObject()
        writer.member("instance", project.instance)
        writer.member("name", project.name)
        writer.member("key", project.apiKey)
        if withSecrets { writer.member("secret", project.secret) }
        writer.member("hmac_required", project.requiresHMAC)
        time("created_at", project.created)
        time("old_key_until", project.oldAPIKey?.until)
        time("old_secret_until", project.oldSecret?.until)
        time("closed_at", project.revoked)
        writer.endObject()
    }
}
