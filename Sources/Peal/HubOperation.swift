/// Every operation of schema/rest/openapi.yaml, by its `operationId`, which `HubAPITests` hold together with the file.
enum HubOperation: String, CaseIterable, Sendable {
    case sendNotification, listNotifications, showNotification, deleteNotification, readNotification, unreadNotification
    case seeNotification, archiveNotification, unarchiveNotification, readAll, seeAll
    case broadcast, broadcasts, showBroadcast
    case preferences, setPreferences, categories, setCategories
    case createUser, showUser, changeUser, deleteUser
    case subscribe, subscriptions, unsubscribe
    case eraseOwn, ownDevices, revokeOwn
    case inboxStanding
    case publishToInterestsOld, publishToInterests, publishToUsers
    case registerDevice, showDevice, deleteDevice, setMetadata, setToken, setDeviceUser
    case interests, setInterests, addInterest, removeInterest
    case deleteUserOfInstance, deleteUserOfInstanceToo
    case health, ready, metrics, config
    case report
    case publish, showPublish, takeBack
    case inboxes, devices, deadLetters, log
    case projects, createProject, showProject, changeProject, closeProject, rotateProject, revokeOld

    /// Who may call an operation, which is also how credentials are shown.
    enum Caller: Sendable {
        /// Anybody.
        case anybody
        /// Who knows an instance, and a device's id where there is one.
        case device
        /// A user, or the back end.
        case inbox
        /// A project's back end, by the headers of the inbox surface.
        case admin
        /// A project's back end, by its secret as a bearer.
        case publisher
        /// A project's back end, by HTTP Basic.
        case native
        /// Who runs the hub.
        case operation
    }

    /// Method and path, as the file has them.
    var route: String {
        switch self {
        case .sendNotification: "POST /notifications"
        case .listNotifications: "GET /notifications"
        case .showNotification: "GET /notifications/{id}"
        case .deleteNotification: "DELETE /notifications/{id}"
        case .readNotification: "POST /notifications/{id}/read"
        case .unreadNotification: "POST /notifications/{id}/unread"
        case .seeNotification: "POST /notifications/{id}/seen"
        case .archiveNotification: "POST /notifications/{id}/archive"
        case .unarchiveNotification: "DELETE /notifications/{id}/archive"
        case .readAll: "POST /notifications/read"
        case .seeAll: "POST /notifications/seen"
        case .broadcast: "POST /broadcasts"
        case .broadcasts: "GET /broadcasts"
        case .showBroadcast: "GET /broadcasts/{id}"
        case .preferences: "GET /notification_preferences"
        case .setPreferences: "PUT /notification_preferences"
        case .categories: "GET /categories"
        case .setCategories: "PUT /categories"
        case .createUser: "POST /users"
        case .showUser: "GET /users/{user}"
        case .changeUser: "PUT /users/{user}"
        case .deleteUser: "DELETE /users/{user}"
        case .subscribe: "POST /push_subscriptions"
        case .subscriptions: "GET /push_subscriptions"
        case .unsubscribe: "DELETE /push_subscriptions/{token}"
        case .eraseOwn: "DELETE /me"
        case .ownDevices: "GET /me/devices"
        case .revokeOwn: "DELETE /me/devices/{device}"
        case .inboxStanding: "GET /standing"
        case .publishToInterestsOld: "POST /publish_api/v1/instances/{instance}/publishes"
        case .publishToInterests: "POST /publish_api/v1/instances/{instance}/publishes/interests"
        case .publishToUsers: "POST /publish_api/v1/instances/{instance}/publishes/users"
        case .deleteUserOfInstance: "DELETE /customer_api/v1/instances/{instance}/users/{user}"
        case .deleteUserOfInstanceToo: "DELETE /user_api/v1/instances/{instance}/users/{user}"
        case .report: "POST /reporting_api/v2/instances/{instance}/events"
        case .health: "GET /healthz"
        case .ready: "GET /readyz"
        case .metrics: "GET /metrics"
        case .config: "GET /config"
        default: deviceRoute ?? nativeRoute
        }
    }

    private var deviceRoute: String? {
        let all = "/device_api/v1/instances/{instance}/devices/{platform}"
        let one = all + "/{device}"
        switch self {
        case .registerDevice: return "POST " + all
        case .showDevice: return "GET " + one
        case .deleteDevice: return "DELETE " + one
        case .setMetadata: return "PUT " + one + "/metadata"
        case .setToken: return "PUT " + one + "/token"
        case .setDeviceUser: return "PUT " + one + "/user"
        case .interests: return "GET " + one + "/interests"
        case .setInterests: return "PUT " + one + "/interests"
        case .addInterest: return "POST " + one + "/interests/{interest}"
        case .removeInterest: return "DELETE " + one + "/interests/{interest}"
        default: return nil
        }
    }

    private var nativeRoute: String {
        switch self {
        case .publish: "POST /v1/publishes"
        case .showPublish: "GET /v1/publishes/{publish}"
        case .takeBack: "DELETE /v1/publishes/{publish}"
        case .inboxes: "GET /v1/users/{user}/inboxes"
        case .devices: "GET /v1/users/{user}/devices"
        case .deadLetters: "GET /v1/inboxes/{inbox}/dead_letters"
        case .log: "GET /v1/log"
        case .projects: "GET /v1/projects"
        case .createProject: "POST /v1/projects"
        case .showProject: "GET /v1/projects/{instance}"
        case .changeProject: "PUT /v1/projects/{instance}"
        case .closeProject: "DELETE /v1/projects/{instance}"
        case .rotateProject: "POST /v1/projects/{instance}/rotate"
        case .revokeOld: "POST /v1/projects/{instance}/revoke"
        default: preconditionFailure("an operation has a route")
        }
    }

    var caller: Caller {
        switch self {
        case .health, .ready, .metrics, .config: .anybody
        case .sendNotification, .broadcast, .broadcasts, .showBroadcast, .categories, .setCategories, .createUser,
            .showUser, .changeUser, .deleteUser:
            .admin
        case .publishToInterestsOld, .publishToInterests, .publishToUsers, .deleteUserOfInstance,
            .deleteUserOfInstanceToo:
            .publisher
        case .registerDevice, .showDevice, .deleteDevice, .setMetadata, .setToken, .setDeviceUser, .interests,
            .setInterests, .addInterest, .removeInterest, .report:
            .device
        case .publish, .showPublish, .takeBack, .inboxes, .devices, .deadLetters, .log: .native
        case .projects, .createProject, .showProject, .changeProject, .closeProject, .rotateProject, .revokeOld:
            .operation
        default: .inbox
        }
    }
}
