#if PostgreSQL
    import PealPostgres
#endif

/// Which store a hub has.
extension HubServer {
    /// Its name for people, without secrets.
    static func storeName(_ configuration: HubConfiguration) -> String {
        guard let store = configuration.store else { return configuration.databasePath }
        #if PostgreSQL
            return (try? PostgresSession.Settings(address: store))?.options.address.description ?? "in PostgreSQL"
        #else
            return "in PostgreSQL"
        #endif
    }

    static func openStore(_ configuration: HubConfiguration) throws(HubStoreError) -> any HubStore {
        guard let store = configuration.store else {
            return try SQLiteHubStore(path: configuration.databasePath, retention: configuration.retention)
        }
        #if PostgreSQL
            let opened = try PostgresHubStore(address: store, retention: configuration.retention)
            do throws(PostgresError) {
                guard try HubMigration.isUnderWay(opened.session.connection) else { return opened }
            } catch {
                throw HubStoreError(postgres: error)
            }
            throw HubStoreError(
                .failed, "a hub is being moved into this database: let 'peal hub migrate' come to its end")
        #else
            throw HubStoreError(.failed, "this program was built without PostgreSQL")
        #endif
    }

    /// The other hubs on the same store; nil where it can have none.
    static func otherNodes(_ configuration: HubConfiguration) throws(HubStoreError) -> (any HubNodes)? {
        #if PostgreSQL
            guard let store = configuration.store else { return nil }
            return PostgresNodes(
                try PostgresSession.Settings(address: store),
                listening: try PostgresSession.Settings(address: configuration.storeListen ?? store))
        #else
            return nil
        #endif
    }
}
