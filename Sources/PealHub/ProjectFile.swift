import PealModel
import PealSQLite

/// The tenants in a hub's file, for a command beside the hub, which may be running: it looks at them every few seconds, and ends the sessions
/// that they do not admit any more.
///
/// Not Sendable; every call blocks for the disk.
public final class ProjectFile {
    /// A tenant as it stands.
    public struct Tenant: Sendable {
        /// The instance id.
        public let instance: String
        /// The operator's word for it.
        public let name: String
        /// The public key.
        public let apiKey: String
        /// The secret; show it only when it was just made.
        public let secret: String
        /// Whether users must prove who they are.
        public let requiresHMAC: Bool
        /// Until when the key and the secret before are good all the same, in milliseconds since 1970.
        public let oldKeyUntil, oldSecretUntil: Int64?
        /// Whether it was closed.
        public let isClosed: Bool

        fileprivate init(_ project: Project) {
            instance = project.instance
            name = project.name
            apiKey = project.apiKey
            secret = project.secret
            requiresHMAC = project.requiresHMAC
            oldKeyUntil = project.oldAPIKey?.until
            oldSecretUntil = project.oldSecret?.until
            isClosed = project.revoked != nil
        }
    }

    private let database: StoreDatabase
    private let queries: ProjectQueries
    private let begin: Query
    private let commit: Query

    /// Opens a hub's file, or makes one.
    ///
    /// - Throws: ``HubError``: the file cannot be opened, is none of a hub's or is newer.
    public init(databasePath: String) throws(HubError) {
        do throws(HubStoreError) {
            database = try StoreDatabase(path: databasePath, options: Connection.Options())
            let connection = database.connection
            try sqlite { () throws(SQLiteError) in try SQLiteHubStore.migrator.migrate(connection) }
            queries = try ProjectQueries(database)
            begin = try database.query("BEGIN IMMEDIATE")
            commit = try database.query("COMMIT")
        } catch {
            throw HubError(message: "the file \(databasePath) cannot be opened: \(error)")
        }
    }

    private func transaction<R>(_ body: () throws(HubStoreError) -> R) throws(HubError) -> R {
        do throws(HubStoreError) {
            try begin.run()
            let result = try body()
            try commit.run()
            return result
        } catch {
            database.connection.rollback()
            throw HubError(message: error.message)
        }
    }

    private func change(
        _ instance: String, _ change: (inout Project) throws(HubStoreError) -> Void
    ) throws(HubError) -> Tenant {
        try transaction { () throws(HubStoreError) in
            guard var project = try queries.named(instance.lowercased()) else {
                throw HubStoreError(.notFound, "there is no project of this instance id")
            }
            try change(&project)
            try queries.save(project)
            return Tenant(project)
        }
    }

    /// Every tenant, oldest first. Throws ``HubError``.
    public func list() throws(HubError) -> [Tenant] {
        try transaction { () throws(HubStoreError) in try queries.all.all { Tenant(Project($0)) } }
    }

    /// Makes a tenant.
    ///
    /// - Throws: ``HubError``: the name is too long, there are 1,000 already, or the disk failed.
    public func create(name: String, requiresHMAC: Bool) throws(HubError) -> Tenant {
        try transaction { () throws(HubStoreError) in
            guard name.unicodeScalars.count <= Project.nameLimit else {
                throw HubStoreError(.invalid, "a name has at most \(Project.nameLimit) characters")
            }
            guard try queries.all.all(read: { _ in () }).count < NativeSurface.projectLimit else {
                throw HubStoreError(.invalid, "a hub has at most \(NativeSurface.projectLimit) projects")
            }
            let made = try queries.insert.first(
                Project.makeInstance(), Project.makeKey(), Secret.make(), RandomBytes.make(32), requiresHMAC,
                HubServer.now()
            ) { Project($0) }
            guard var project = made else { throw HubStoreError(.failed, "the project was not created") }
            project.name = name
            try queries.save(project)
            return Tenant(project)
        }
    }

    /// Replaces key or secret or both. What was current stays good for some seconds.
    ///
    /// - Throws: ``HubError``: there is no such project, it is closed, or the disk failed.
    public func rotate(_ instance: String, key: Bool, secret: Bool, overlapSeconds: Int64) throws(HubError) -> Tenant {
        precondition(overlapSeconds >= 0 && overlapSeconds * 1_000 <= Project.overlapLimit, "an overlap is limited")
        return try change(instance) { (project) throws(HubStoreError) in
            guard project.revoked == nil else { throw HubStoreError(.conflict, "the project is closed") }
            project.rotate(
                key: key ? Project.makeKey() : nil, secret: secret ? Secret.make() : nil,
                until: HubServer.now() + overlapSeconds * 1_000)
        }
    }

    /// Ends at once what a rotation left good. Throws ``HubError``.
    public func revokeOld(_ instance: String) throws(HubError) -> Tenant {
        try change(instance) { (project) throws(HubStoreError) in
            project.oldAPIKey = nil
            project.oldSecret = nil
        }
    }

    /// Closes a tenant for good: nothing opens it any more. Throws ``HubError``.
    public func close(_ instance: String) throws(HubError) -> Tenant {
        try change(instance) { (project) throws(HubStoreError) in
            project.revoked = project.revoked ?? HubServer.now()
        }
    }

    /// Replaces the operator's token, of which the file holds a hash only. Throws ``HubError``.
    public func makeOperatorToken() throws(HubError) -> String {
        try transaction { () throws(HubStoreError) in
            let token = Secret.make()
            try queries.writeOperator.run(Secret.stored(token))
            return token
        }
    }
}
