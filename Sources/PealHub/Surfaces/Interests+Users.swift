import PealModel

/// Deleting a user.
extension InterestsSurface {
    var userRoutes: [HTTPRoute] {
        ["/customer_api", "/user_api"].map { api in
            HTTPRoute(.delete, api + "/v1/instances/{instance}/users/{user*}") { deleteUser($0, $1) }
        }
    }

    /// Removes the user, its devices and their inboxes. 200 for one that is not there. A stock SDK leaves a slash of the id as it is, so
    /// the id is all that is left of the path.
    private func deleteUser(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let project = try authorize(request)
            let id = request.parameter("user", plusIsSpace: Self.writesPlusForSpace(request))
            core.perform(project, as: .interests, key: nil, respond) { (store, _) throws(HubStoreError) in
                guard let user = try store.user(UserIdentity(externalID: id), in: project.key) else {
                    return Work(response: .empty(200))
                }
                return Work(response: .empty(200), ended: try store.deleteUser(user.key))
            }
        } catch {
            respond.send(HTTPSurface.interests.response(to: error))
        }
    }

    /// Some of the stock SDKs write a space of a user id as a plus; they name themselves.
    private static func writesPlusForSpace(_ request: HTTPRequest) -> Bool {
        let library = request.headers["X-Pusher-Library"]?.lowercased() ?? ""
        return ["php", "ruby", "java"].contains { library.contains($0) }
    }
}
