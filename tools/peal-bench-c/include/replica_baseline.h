#ifndef REPLICA_BASELINE_H
#define REPLICA_BASELINE_H

#include <stdint.h>

/* One row of the item table, as the bench has it in memory. */
struct baseline_row {
    int64_t position, time, sent;
    const char *publish, *category, *body;
    int publish_count, category_count, body_count;
    uint8_t id[16];
};

/* What C and SQLite alone take for the work that the replica does: seconds, or below 0 for an error of SQLite. */
double baseline_insert(const char *path, const char *schema, const struct baseline_row *rows, int count, int batch);
double baseline_unread_page(const char *path, int repetitions, int64_t *checksum);

/* One act a transaction, as durable as a replica's: a row of the outbox, an item's overlay, the replica's row. `seconds` gets the
   wall time of each; the answer is CPU seconds of all. */
double baseline_act(const char *path, int count, int64_t stride, double *seconds);

/* Counts the statements and commits of every SQLite connection that this process opens from now on. */
void statement_count_start(void);
int64_t statement_count(void);
int64_t commit_count(void);

/* Bytes that are allocated from the C library's heap, in all threads' parts of it. */
unsigned long baseline_heap(void);

#endif
