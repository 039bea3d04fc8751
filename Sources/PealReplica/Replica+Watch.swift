internal import PealSQLite

extension Replica {
    /// A number that moves when another connection, of this process or another, commits to the file.
    ///
    /// - Throws: ``ReplicaError``.
    public func dataVersion() throws(ReplicaError) -> Int64 {
        do throws(SQLiteError) {
            return try connection.dataVersion()
        } catch {
            throw ReplicaError(error)
        }
    }

    /// Bounds the pages of the file that are kept in memory, from now on.
    package func limitCache(kibibytes: Int) throws(ReplicaError) {
        do throws(SQLiteError) {
            try connection.execute("PRAGMA cache_size = -\(kibibytes)")
        } catch {
            throw ReplicaError(error)
        }
    }
}
