#include "replica_baseline.h"

#include <sqlite3.h>
#include <stdatomic.h>

static atomic_llong statements, commits;

static int traced(unsigned kind, void *context, void *statement, void *text) {
    (void)kind, (void)context, (void)statement;
    /* Statements inside a trigger come as comments. */
    const char *sql = text;
    if (!(sql && sql[0] == '-' && sql[1] == '-')) atomic_fetch_add(&statements, 1);
    return 0;
}

static int committed(void *context) {
    (void)context;
    atomic_fetch_add(&commits, 1);
    return 0;
}

static int opened(sqlite3 *connection, const char **message, const struct sqlite3_api_routines *routines) {
    (void)message, (void)routines;
    sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, traced, 0);
    sqlite3_commit_hook(connection, committed, 0);
    return SQLITE_OK;
}

void statement_count_start(void) { sqlite3_auto_extension((void (*)(void))opened); }
int64_t statement_count(void) { return atomic_load(&statements); }
int64_t commit_count(void) { return atomic_load(&commits); }
