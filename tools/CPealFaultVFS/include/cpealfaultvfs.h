#ifndef CPEALFAULTVFS_H
#define CPEALFAULTVFS_H

#include <stdint.h>

/*
 * A file system for SQLite that fails when it is told to, and that a power cut can happen to. For tests and tools only.
 *
 * Every disk is a VFS of its own name over SQLite's default one, so that tests which run at once do not meet. Writes go
 * through to the real files. Beside them the disk remembers what no sync has made durable: old and new bytes of each write and
 * truncation, and which names of the directory are of which file. So it can say afterwards what a real disk might hold.
 * The index of a write-ahead log (shm) is passed through: it is memory, and a power cut removes it.
 *
 * A disk may be used from several threads. docs/faults.md says what is driven over it.
 */
typedef struct pfv_disk pfv_disk;

/* What a file is asked for. A plan names a set of them, as bits 1 << op. */
enum pfv_op {
    PFV_OPEN,
    PFV_READ,
    PFV_WRITE,
    PFV_SYNC,
    PFV_TRUNCATE,
    PFV_DELETE,
    PFV_ACCESS,
    PFV_SIZE,
    PFV_LOCK,
    PFV_SHM_MAP,
    PFV_SHM_LOCK,
    PFV_OPS
};

/* How an operation fails. */
enum pfv_effect {
    PFV_EIO,    /* SQLITE_IOERR_* of the operation; CANTOPEN of an open. Nothing is done. */
    PFV_ENOSPC, /* SQLITE_FULL; nothing is done. Of a write; any other operation fails as by EIO. */
    PFV_SHORT,  /* the first half of a write, rounded down, reaches the file; then SQLITE_FULL */
    PFV_CUT     /* the power goes: this one and all later ones fail until pfv_disk_restore */
};

/* What is on the disk after a power cut. */
enum pfv_loss {
    PFV_LOSE_ALL,  /* nothing that was not synced: no write, no new name, no removal */
    PFV_LOSE_DATA, /* no write that was not synced; names as they were last, so a new file can be there and empty */
    PFV_LOSE_SOME  /* by the seed: of each write and truncation all, nothing or some sectors; of each name the old or the new */
};

struct pfv_plan {
    uint32_t ops;    /* which operations count */
    uint64_t at;     /* the how manieth of them fails, from 1 */
    int effect;      /* of enum pfv_effect */
    int sticky;      /* every later one fails too, until pfv_disk_disarm */
    int loss;        /* of enum pfv_loss, for PFV_CUT and pfv_disk_cut */
    uint64_t seed;   /* for PFV_LOSE_SOME */
};

/* Makes a disk and registers it as a VFS; NULL where memory or SQLite refuses. The name must be new, and is copied. */
pfv_disk *pfv_disk_new(const char *name);
/* Takes the VFS back and frees it. No file of it may be open: then nothing is done and the answer is 0. */
int pfv_disk_free(pfv_disk *disk);

/* Begins to count for a plan; what an earlier one counted is forgotten. */
void pfv_disk_arm(pfv_disk *disk, const struct pfv_plan *plan);
/* No more operation fails by the plan. A power that is cut stays cut. */
void pfv_disk_disarm(pfv_disk *disk);
/* Cuts the power now. */
void pfv_disk_cut(pfv_disk *disk, int loss, uint64_t seed);

/* How many operations have failed by the plan; those after a power cut are not counted. */
uint64_t pfv_disk_fired(pfv_disk *disk);
/* How many operations of the plan's kinds there were since it was armed, up to a power cut. */
uint64_t pfv_disk_seen(pfv_disk *disk);
/* How many operations of a kind there were since the disk was made. */
uint64_t pfv_disk_count(pfv_disk *disk, int op);
/* Whether the power is cut. */
int pfv_disk_is_cut(pfv_disk *disk);
/* How many files are open. */
int pfv_disk_open_files(pfv_disk *disk);

/*
 * After a power cut, with every file closed: makes the real files what the disk holds, and gives the power back.
 * 0: done; else an errno, EBUSY where files are open.
 */
int pfv_disk_restore(pfv_disk *disk);

/*
 * Puts an allocator under SQLite that fails when it is told to. One for the process, before anything else of SQLite is
 * called: SQLite takes none once it runs. Small blocks go through it too (no lookaside). 0, or SQLite's result code.
 */
int pfv_memory_install(void);
/* The at-th allocation from now on fails, and with sticky all after it; 0 for none. Growing a block counts. */
void pfv_memory_arm(uint64_t at, int sticky);
/* How many failed since it was armed. */
uint64_t pfv_memory_fired(void);
/* How many allocations there were since it was armed. */
uint64_t pfv_memory_seen(void);

#endif
