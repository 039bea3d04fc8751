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
/* `keeps`: each row's text and bytes are copied, as who wants to show them has to. */
double baseline_unread_page(const char *path, int repetitions, int keeps, int64_t *checksum);
/* A column of every row set in one statement and transaction; wall seconds. */
double baseline_mark_rows(const char *path);

/* One act a transaction, as durable as a replica's: a row of the outbox, an item's overlay, the replica's row. `seconds` gets the
   wall time of each; the answer is CPU seconds of all. */
double baseline_act(const char *path, int count, int64_t stride, double *seconds);

/* Publishes to single users in a hub's file, `batch` to a transaction with synchronous=FULL: the rows that a hub leaves behind, their
   bytes `size` each. Gives wall and CPU seconds; 0 for an error of SQLite. */
int baseline_append(const char *path, const char *schema, int count, int batch, int inboxes, int size, double *wall, double *cpu);

/* Counts the statements and commits of every SQLite connection that this process opens from now on. */
void statement_count_start(void);
int64_t statement_count(void);
int64_t commit_count(void);

/* Bytes that are allocated from the C library's heap, in all threads' parts of it. */
unsigned long baseline_heap(void);

/* Calls of malloc, calloc and realloc of this process, all threads and libraries, and the bytes they asked for, from the start on; 0
   where the C library is not glibc. */
void allocation_count_start(void);
int64_t allocation_count(void);
int64_t allocation_bytes(void);

#endif
