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
            return try PostgresHubStore(address: store, retention: configuration.retention)
        #else
            throw HubStoreError(.failed, "this program was built without PostgreSQL")
        #endif
    }
}
