internal import CPealSQLite

/// The version of SQLite.
package var sqliteLibraryVersion: String { String(cString: sqlite3_libversion()) }
