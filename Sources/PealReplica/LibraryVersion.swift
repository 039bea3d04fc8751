internal import PealSQLite

/// The version of the library below a replica.
package var replicaLibraryVersion: String { sqliteLibraryVersion }
