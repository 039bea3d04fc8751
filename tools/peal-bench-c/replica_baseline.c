#include "replica_baseline.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static sqlite3 *start(const char *path, int flags) {
    sqlite3 *connection = 0;
    if (sqlite3_open_v2(path, &connection, flags | SQLITE_OPEN_NOMUTEX, 0) != SQLITE_OK) return 0;
    sqlite3_exec(connection,
                 "PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY; PRAGMA journal_mode = WAL;"
                 "PRAGMA wal_autocheckpoint = 1000; PRAGMA synchronous = NORMAL",
                 0, 0, 0);
    return connection;
}

double baseline_insert(const char *path, const char *schema, const struct baseline_row *rows, int count, int batch) {
    sqlite3 *connection = start(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (!connection || sqlite3_exec(connection, schema, 0, 0, 0) != SQLITE_OK) return -1;
    sqlite3_exec(connection, "INSERT INTO replica (one, identity, project, replica) VALUES (1, '', '', '')", 0, 0, 0);
    sqlite3_stmt *insert = 0, *cursor = 0;
    if (sqlite3_prepare_v3(connection,
                           "INSERT INTO item (position, id, publish, time, sent, type, category, topic, expires, silent,"
                           " version, body) VALUES (?1, ?2, ?3, ?4, ?5, 'message', ?6, NULL, NULL, 0, ?1, ?7)"
                           " ON CONFLICT DO NOTHING",
                           -1, SQLITE_PREPARE_PERSISTENT, &insert, 0) != SQLITE_OK ||
        sqlite3_prepare_v3(connection, "UPDATE replica SET position = ?1, chain = ?2, time = ?3", -1,
                           SQLITE_PREPARE_PERSISTENT, &cursor, 0) != SQLITE_OK)
        return -1;
    double begin = now();
    for (int first = 0; first < count; first += batch) {
        sqlite3_exec(connection, "BEGIN IMMEDIATE", 0, 0, 0);
        int end = first + batch < count ? first + batch : count;
        for (int index = first; index < end; index++) {
            const struct baseline_row *row = rows + index;
            sqlite3_bind_int64(insert, 1, row->position);
            sqlite3_bind_blob(insert, 2, row->id, 16, SQLITE_STATIC);
            sqlite3_bind_text(insert, 3, row->publish, row->publish_count, SQLITE_STATIC);
            sqlite3_bind_int64(insert, 4, row->time);
            sqlite3_bind_int64(insert, 5, row->sent);
            sqlite3_bind_text(insert, 6, row->category, row->category_count, SQLITE_STATIC);
            sqlite3_bind_text(insert, 7, row->body, row->body_count, SQLITE_STATIC);
            if (sqlite3_step(insert) != SQLITE_DONE) return -1;
            sqlite3_reset(insert);
        }
        sqlite3_bind_int64(cursor, 1, rows[end - 1].position);
        sqlite3_bind_int64(cursor, 2, end);
        sqlite3_bind_int64(cursor, 3, rows[end - 1].time);
        if (sqlite3_step(cursor) != SQLITE_DONE) return -1;
        sqlite3_reset(cursor);
        if (sqlite3_exec(connection, "COMMIT", 0, 0, 0) != SQLITE_OK) return -1;
    }
    double seconds = now() - begin;
    sqlite3_finalize(insert);
    sqlite3_finalize(cursor);
    sqlite3_close(connection);
    return seconds;
}

double baseline_unread_page(const char *path, int repetitions, int keeps, int64_t *checksum) {
    sqlite3 *connection = 0;
    if (sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, 0) != SQLITE_OK) return -1;
    sqlite3_exec(connection, "PRAGMA cache_size = -8192", 0, 0, 0);
    sqlite3_stmt *query = 0;
    if (sqlite3_prepare_v3(
            connection,
            "SELECT position, id, publish, time, sent, type, category, topic, expires, silent, 0, coalesce(o_seen, seen), 0, body"
            " FROM item"
            " INDEXED BY item_unread WHERE coalesce(o_read, read) = 0 AND coalesce(o_archived, archived) = 0"
            " AND silent = 0 AND o_deleted IS NULL AND (expires IS NULL OR expires > ?1)"
            " ORDER BY position DESC LIMIT 51",
            -1, SQLITE_PREPARE_PERSISTENT, &query, 0) != SQLITE_OK)
        return -1;
    double begin = now();
    int64_t sum = 0;
    void *kept[64 * 6];
    int keptCount = 0;
    for (int repetition = 0; repetition < repetitions; repetition++) {
        sqlite3_bind_int64(query, 1, 1700000000000);
        while (sqlite3_step(query) == SQLITE_ROW) {
            for (int column = 0; column < 14; column++) {
                /* id, publish, type, category, topic, body; the others are integers. */
                if (!(1 << column & (1 << 1 | 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 13))) {
                    sum += sqlite3_column_int64(query, column);
                    continue;
                }
                const unsigned char *text = sqlite3_column_blob(query, column);
                int count = sqlite3_column_bytes(query, column);
                if (text && count) sum += text[count - 1];
                if (keeps && text) {
                    kept[keptCount] = malloc(count + 1);
                    memcpy(kept[keptCount++], text, count);
                }
            }
        }
        while (keptCount) free(kept[--keptCount]);
        sqlite3_reset(query);
    }
    double seconds = now() - begin;
    sqlite3_finalize(query);
    sqlite3_close(connection);
    *checksum = sum;
    return seconds;
}

static double wall(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double baseline_act(const char *path, int count, int64_t stride, double *seconds) {
    sqlite3 *connection = start(path, SQLITE_OPEN_READWRITE);
    if (!connection) return -1;
    sqlite3_exec(connection, "PRAGMA synchronous = FULL", 0, 0, 0);
    sqlite3_stmt *begin = 0, *insert = 0, *show = 0, *progress = 0, *commit = 0;
    if (sqlite3_prepare_v3(connection, "BEGIN IMMEDIATE", -1, SQLITE_PREPARE_PERSISTENT, &begin, 0) != SQLITE_OK ||
        sqlite3_prepare_v3(connection,
                           "INSERT INTO outbox (uid, state, name, op, observed, observed_time, boot, boot_time, wall)"
                           " VALUES (?1, 1, 'read', ?2, 1, 1, '00000000-0000-0000-0000-000000000000', 1, 1)",
                           -1, SQLITE_PREPARE_PERSISTENT, &insert, 0) != SQLITE_OK ||
        sqlite3_prepare_v3(connection, "UPDATE item SET overlaid = 1, o_read = 1, o_seen = 1 WHERE position = ?1", -1,
                           SQLITE_PREPARE_PERSISTENT, &show, 0) != SQLITE_OK ||
        sqlite3_prepare_v3(connection, "UPDATE replica SET generation = generation + 1", -1, SQLITE_PREPARE_PERSISTENT,
                           &progress, 0) != SQLITE_OK ||
        sqlite3_prepare_v3(connection, "COMMIT", -1, SQLITE_PREPARE_PERSISTENT, &commit, 0) != SQLITE_OK)
        return -1;
    double used = now();
    for (int index = 0; index < count; index++) {
        double from = wall();
        sqlite3_stmt *each[] = {begin, insert, show, progress, commit};
        sqlite3_bind_int64(insert, 1, -1 - index);
        sqlite3_bind_text(insert, 2, "{\"kind\":\"read\",\"items\":[\"0190a0b0-0000-7000-8000-000000000000\"],\"on\":true}",
                          -1, SQLITE_STATIC);
        /* Beside the items that the replica has acted on. */
        sqlite3_bind_int64(show, 1, index * stride + (stride > 1 ? 2 : 1));
        for (int step = 0; step < 5; step++) {
            if (sqlite3_step(each[step]) != SQLITE_DONE) return -1;
            sqlite3_reset(each[step]);
        }
        seconds[index] = wall() - from;
    }
    used = now() - used;
    sqlite3_finalize(begin);
    sqlite3_finalize(insert);
    sqlite3_finalize(show);
    sqlite3_finalize(progress);
    sqlite3_finalize(commit);
    sqlite3_close(connection);
    return used;
}

double baseline_mark_rows(const char *path) {
    sqlite3 *connection = start(path, SQLITE_OPEN_READWRITE);
    if (!connection) return -1;
    double begin = wall();
    int result = sqlite3_exec(connection, "UPDATE item SET read = 1", 0, 0, 0);
    double seconds = wall() - begin;
    sqlite3_close(connection);
    return result == SQLITE_OK ? seconds : -1;
}
