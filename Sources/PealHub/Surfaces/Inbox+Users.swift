import PealModel

/// The project's users, for its back end: by their id, `email:E` or `external_id:X`.
extension InboxSurface {
    var userRoutes: [HTTPRoute] {
        [
            HTTPRoute(.post, "/users") { createUser($0, $1) },
            HTTPRoute(.get, "/users/{user}") { showUser($0, $1) },
            HTTPRoute(.put, "/users/{user}") { changeUser($0, $1) },
            HTTPRoute(.delete, "/users/{user}") { deleteUser($0, $1) },
        ]
    }

    private static let unknown = HTTPFailure(
        status: 404, code: "not_found", message: "There is no such user in this project.")

    private func createUser(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let project = try admin(request)
            let said = try UserMembers(JSONBody(request).object("user"), of: "A user").recipient
            core.perform(project, as: .inbox, key: try RepeatKey(request, caller: "admin"), respond) {
                (store, now) throws(HubStoreError) in
                let (user, isNew) = try store.upsertUser(
                    said.identity, profile: said.profile, in: project.key, now: now)
                return Work(response: .json(isNew ? 201 : 200, Self.body(user)))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private func showUser(_ request: HTTPRequest, _ respond: HTTPResponder) {
        withUser(request, respond) { (_, user, _) in Work(response: .json(200, Self.body(user))) }
    }

    /// What is given is changed, the rest stays. An identity can be added, never changed into another.
    private func changeUser(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let said = try UserMembers(JSONBody(request).object("user"), of: "A user", needsIdentity: false).recipient
            withUser(request, respond) { (store, user, project) throws(HubStoreError) in
                if let id = said.identity.externalID, let known = user.identity.externalID,
                    !id.utf8.elementsEqual(known.utf8)
                {
                    throw HubStoreError(.conflict, "the user's external id cannot become another one")
                }
                let identity = UserIdentity(
                    externalID: said.identity.externalID ?? user.identity.externalID,
                    email: said.identity.email ?? (user.identity.externalID == nil ? user.identity.email : nil))
                if let other = try store.user(identity, in: project.key), other.key != user.key {
                    throw HubStoreError(.conflict, "the email or the external id belongs to another user")
                }
                let (changed, _) = try store.upsertUser(
                    identity, profile: said.profile, in: project.key, now: user.created)
                return Work(response: .json(200, Self.body(changed)))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private func deleteUser(_ request: HTTPRequest, _ respond: HTTPResponder) {
        withUser(request, respond) { (store, user, _) throws(HubStoreError) in
            Work(response: .empty(204), ended: try store.deleteUser(user.key))
        }
    }

    private func withUser(
        _ request: HTTPRequest, _ respond: HTTPResponder,
        _ work: @escaping @Sendable (any HubStore, UserRecord, Project) throws(HubStoreError) -> Work
    ) {
        do throws(HTTPFailure) {
            let project = try admin(request)
            let name = UserName(request)
            core.perform(project, as: .inbox, key: nil, respond) { (store, _) throws(HubStoreError) in
                guard let user = try name.find(store, project) else {
                    return Work(response: HTTPSurface.inbox.response(to: Self.unknown))
                }
                return try work(store, user, project)
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private static func body(_ user: UserRecord) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("user")
        writer.beginObject()
        writer.member("id", user.inboxID)
        for (key, value) in [
            ("external_id", user.identity.externalID), ("email", user.identity.email),
            ("first_name", user.profile.firstName), ("last_name", user.profile.lastName),
        ] {
            writer.key(key)
            if let value { writer.string(value) } else { writer.null() }
        }
        writer.key("custom_attributes")
        writer.raw((user.profile.attributes ?? Array("{}".utf8))[...])
        writer.key("phone_numbers")
        writer.raw((user.profile.phoneNumbers ?? Array("[]".utf8))[...])
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }
}
