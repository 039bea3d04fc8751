#ifndef CPEALSQLITE_SHIM_H
#define CPEALSQLITE_SHIM_H

#include <sqlite3.h>

/* What Swift cannot call: casts to a destructor, and variadic functions. */

/* SQLite copies the value before the call returns. */
static inline int peal_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* SQLite copies the value before the call returns. */
static inline int peal_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

/* Refuses double-quoted strings, and turns the defences against a crafted file on. */
static inline void peal_sqlite_harden(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}

/* Names the calling thread for debuggers; the libc declares this only for GNU sources. */
static inline void peal_name_thread(const char *name) {
#if defined(__linux__)
    extern int pthread_setname_np(unsigned long, const char *);
    extern unsigned long pthread_self(void);
    pthread_setname_np(pthread_self(), name);
#else
    (void)name;
#endif
}

#endif
