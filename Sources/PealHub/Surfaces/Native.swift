import PealModel

/// The native surface, `/v1`: what neither of the other two has. Errors are `{"error":{"code","message"}}`.
///
/// A project's back end gives the project's key (or instance id) and its secret as the user name and the password of HTTP Basic; who runs the
/// hub gives the operator's token as a Bearer.
struct NativeSurface: Sendable {
    let core: HubCore

    var routes: [HTTPRoute] { projectRoutes + publishRoutes + inboxRoutes + logRoutes }

    /// The project of a request, for who has its secret.
    func project(_ request: HTTPRequest) throws(HTTPFailure) -> Project {
        guard let pair = HTTPCredentials(request.headers).basic, let project = core.project(pair.name),
            project.hasSecret(pair.password, at: core.clock())
        else {
            throw Self.unauthorized(
                "The header 'Authorization: Basic …' is missing, or holds no project's key and its secret.")
        }
        return project
    }

    /// Lets whoever runs the hub pass.
    func checkOperator(_ request: HTTPRequest) throws(HTTPFailure) {
        guard let token = HTTPCredentials(request.headers).bearer, core.projects.isOperator(token) else {
            throw Self.unauthorized("The header 'Authorization: Bearer …' is missing, or holds no operator's token.")
        }
    }

    private static func unauthorized(_ message: String) -> HTTPFailure {
        HTTPFailure(status: 401, code: "unauthorized", message: message)
    }

    /// Answers a failure of what a request says before the store is asked.
    func answering(_ respond: HTTPResponder, _ body: () throws(HTTPFailure) -> Void) {
        do throws(HTTPFailure) {
            try body()
        } catch {
            respond.send(HTTPSurface.native.response(to: error))
        }
    }

    /// 404.
    static func missing(_ what: String) -> HTTPResponse {
        HTTPSurface.native.response(
            to: HTTPFailure(status: 404, code: "not_found", message: "There is no such \(what)."))
    }
}
