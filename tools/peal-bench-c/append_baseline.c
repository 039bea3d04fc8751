#include "replica_baseline.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double clock_of(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The rows that a publish to one user leaves behind. */
static const char *const statements[] = {
    "INSERT INTO publish (name, project, time, silent, first_seq, last_seq, matched) VALUES (?1, 1, ?2, 0, ?3, ?3, 1)",
    "INSERT INTO entry (seq, inbox, position, publish, salt, time, chain, bytes) VALUES (?3, ?4, ?5, ?6, ?7, ?2, ?7, ?8)",
    "INSERT INTO log (inbox, position, seq, publish) VALUES (?4, ?5, ?3, ?6)",
    "UPDATE inbox SET head = ?5, chain = ?7, sum = ?7 WHERE id = ?4",
};

static int append(sqlite3_stmt **each, int64_t index, int inboxes, const char *bytes, int size) {
    char name[40];
    snprintf(name, sizeof name, "%032llx-abc", (unsigned long long)index * 0x9E3779B97F4A7C15ull);
    for (int step = 0; step < 4; step++) {
        int last = sqlite3_bind_parameter_count(each[step]);
        for (int parameter = 1; parameter <= last; parameter++) {
            if (parameter == 1) sqlite3_bind_text(each[step], 1, name, 36, SQLITE_STATIC);
            else if (parameter == 8) sqlite3_bind_blob(each[step], 8, bytes, size, SQLITE_STATIC);
            else sqlite3_bind_int64(each[step], parameter,
                                    parameter == 2   ? 1700000000000 + index
                                    : parameter == 4 ? 1 + index % inboxes
                                    : parameter == 5 ? 1 + index / inboxes
                                    : parameter == 7 ? (int64_t)((uint64_t)index * 0x9E3779B97F4A7C15ull)
                                                     : 1 + index);
        }
        if (sqlite3_step(each[step]) != SQLITE_DONE) return 0;
        sqlite3_reset(each[step]);
    }
    return 1;
}

int baseline_append(const char *path, const char *schema, int count, int batch, int inboxes, int size, double *wall, double *cpu) {
    sqlite3 *connection = 0;
    if (sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, 0) != SQLITE_OK)
        return 0;
    sqlite3_exec(connection, "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA journal_mode = WAL;"
                             "PRAGMA wal_autocheckpoint = 8000; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON", 0, 0, 0);
    if (sqlite3_exec(connection, schema, 0, 0, 0) != SQLITE_OK) return 0;
    sqlite3_exec(connection, "BEGIN", 0, 0, 0);
    for (int inbox = 1; inbox <= inboxes; inbox++) {
        char text[160];
        snprintf(text, sizeof text,
                 "INSERT INTO inbox (id, project, public, kind, epoch) VALUES (%d, 1, randomblob(16), 0, 1)", inbox);
        if (sqlite3_exec(connection, text, 0, 0, 0) != SQLITE_OK) return 0;
    }
    if (sqlite3_exec(connection, "COMMIT", 0, 0, 0) != SQLITE_OK) return 0;
    sqlite3_stmt *each[4], *begin = 0, *commit = 0;
    for (int step = 0; step < 4; step++)
        if (sqlite3_prepare_v3(connection, statements[step], -1, SQLITE_PREPARE_PERSISTENT, each + step, 0) != SQLITE_OK) return 0;
    sqlite3_prepare_v2(connection, "BEGIN IMMEDIATE", -1, &begin, 0);
    sqlite3_prepare_v2(connection, "COMMIT", -1, &commit, 0);
    char *bytes = malloc(size);
    memset(bytes, 'x', size);
    double from = clock_of(CLOCK_MONOTONIC), used = clock_of(CLOCK_THREAD_CPUTIME_ID);
    int good = 1;
    for (int first = 0; good && first < count; first += batch) {
        sqlite3_step(begin);
        sqlite3_reset(begin);
        for (int index = first; good && index < first + batch && index < count; index++)
            good = append(each, index, inboxes, bytes, size);
        good = good && sqlite3_step(commit) == SQLITE_DONE;
        sqlite3_reset(commit);
    }
    *wall = clock_of(CLOCK_MONOTONIC) - from;
    *cpu = clock_of(CLOCK_THREAD_CPUTIME_ID) - used;
    free(bytes);
    for (int step = 0; step < 4; step++) sqlite3_finalize(each[step]);
    sqlite3_finalize(begin);
    sqlite3_finalize(commit);
    sqlite3_close(connection);
    return good;
}
