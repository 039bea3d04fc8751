#ifndef CPEALFAULTVFS_INTERNAL_H
#define CPEALFAULTVFS_INTERNAL_H

#include "cpealfaultvfs.h"
#include <pthread.h>
#include <sqlite3.h>

/* A write or a truncation that was done, with what undoes it. */
struct pfv_change {
    struct pfv_change *next;
    enum { PFV_PENDING, PFV_LOST, PFV_SYNCED } state;
    int is_truncation;
    sqlite3_int64 offset;   /* of a write; the new size of a truncation */
    sqlite3_int64 old_size; /* of the file before */
    int count, old_count;   /* bytes that were written, and bytes that they replaced or cut off */
    unsigned char bytes[];  /* the new ones, then the old ones */
};

/* What a name in the directory can be of. */
struct pfv_node {
    struct pfv_change *first, *last;
    sqlite3_int64 size; /* as it is now */
    unsigned char *kept; /* the content of a removed one, size bytes; NULL while it is on the real disk */
    int references;
};

/* A name: of which file it is now, and of which the disk knows. NULL: there is none. */
struct pfv_name {
    struct pfv_name *next;
    struct pfv_node *current, *durable;
    char path[];
};

struct pfv_disk {
    sqlite3_vfs vfs; /* first: SQLite's pointer is ours */
    sqlite3_vfs *real;
    pthread_mutex_t mutex;
    struct pfv_plan plan;
    int armed, cut, open_files, loss;
    uint64_t seen, fired, seed, counts[PFV_OPS];
    struct pfv_name *names;
    char name[];
};

struct pfv_file {
    sqlite3_file base; /* first */
    pfv_disk *disk;
    struct pfv_node *node; /* NULL: a file without a name */
    int is_log;            /* a journal or a write-ahead log that may be new: its first sync is one of the directory too */
    sqlite3_file *real;
};

/* Counts an operation. -1: do it; else how it fails, of enum pfv_effect. *dead: the power was cut before. */
int pfv_gate(pfv_disk *disk, int op, int *dead);
/* SQLite's code for an operation that fails. */
int pfv_code(int op, int effect);

extern const sqlite3_io_methods pfv_io_methods;

/* All of these with the disk's mutex held. */
struct pfv_name *pfv_name_of(pfv_disk *disk, const char *path, int make);
struct pfv_node *pfv_node_new(sqlite3_int64 size);
void pfv_node_release(struct pfv_node *node);
/* Remembers a change before it is done: reads what it replaces through the real file. 0: no memory. */
int pfv_remember(struct pfv_file *file, int is_truncation, const void *bytes, int count, sqlite3_int64 offset);
void pfv_synced(struct pfv_node *node);
void pfv_sync_failed(struct pfv_node *node);
void pfv_names_synced(pfv_disk *disk);
/* Keeps the content of a file whose name is about to go. 0: it cannot be read. */
int pfv_keep(struct pfv_node *node, const char *path);

#endif
