#include "internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pfv_disk *disk_of(sqlite3_vfs *vfs) { return (pfv_disk *)vfs; }

int pfv_code(int op, int effect) {
    static const int codes[PFV_OPS] = {
        [PFV_OPEN] = SQLITE_CANTOPEN,         [PFV_READ] = SQLITE_IOERR_READ,
        [PFV_WRITE] = SQLITE_IOERR_WRITE,     [PFV_SYNC] = SQLITE_IOERR_FSYNC,
        [PFV_TRUNCATE] = SQLITE_IOERR_TRUNCATE, [PFV_DELETE] = SQLITE_IOERR_DELETE,
        [PFV_ACCESS] = SQLITE_IOERR_ACCESS,   [PFV_SIZE] = SQLITE_IOERR_FSTAT,
        [PFV_LOCK] = SQLITE_IOERR_LOCK,       [PFV_SHM_MAP] = SQLITE_IOERR_SHMMAP,
        [PFV_SHM_LOCK] = SQLITE_IOERR_SHMLOCK,
    };
    if (op == PFV_WRITE && (effect == PFV_ENOSPC || effect == PFV_SHORT)) return SQLITE_FULL;
    return codes[op];
}

int pfv_gate(pfv_disk *disk, int op, int *dead) {
    int effect = -1;
    pthread_mutex_lock(&disk->mutex);
    disk->counts[op]++;
    *dead = disk->cut;
    if (disk->cut) {
        effect = PFV_CUT;
    } else if (disk->armed && disk->plan.ops >> op & 1) {
        disk->seen++;
        if (disk->seen == disk->plan.at || (disk->plan.sticky && disk->seen > disk->plan.at)) {
            disk->fired++;
            effect = disk->plan.effect;
            if (effect == PFV_CUT) {
                disk->cut = 1;
                disk->loss = disk->plan.loss;
                disk->seed = disk->plan.seed;
            }
        }
    }
    pthread_mutex_unlock(&disk->mutex);
    return effect;
}

static int is_there(const char *path, sqlite3_int64 *size) {
    struct stat status;
    *size = 0;
    if (stat(path, &status)) return 0;
    *size = status.st_size;
    return 1;
}

/* Finds or makes the node of a file that was opened. With the mutex held. */
static struct pfv_node *opened(pfv_disk *disk, const char *path, int flags, int was_there, sqlite3_int64 size) {
    struct pfv_name *name = pfv_name_of(disk, path, 1);
    if (!name) return NULL;
    if (!name->current) {
        name->current = pfv_node_new(size);
        if (!name->current) return NULL;
        /* A database of no bytes was made a moment ago, and nothing has synced its directory since. */
        if (was_there && !(flags & SQLITE_OPEN_MAIN_DB && size == 0)) {
            name->durable = name->current;
            name->durable->references++;
        }
    }
    name->current->references++;
    return name->current;
}

static int fault_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *out) {
    pfv_disk *disk = disk_of(vfs);
    struct pfv_file *file = (struct pfv_file *)base;
    sqlite3_int64 size = 0;
    int dead, was_there;
    memset(file, 0, sizeof *file);
    int effect = pfv_gate(disk, PFV_OPEN, &dead);
    if (effect >= 0) return pfv_code(PFV_OPEN, effect);
    was_there = path && is_there(path, &size);
    file->real = (sqlite3_file *)(file + 1);
    int result = disk->real->xOpen(disk->real, path, file->real, flags, out);
    if (result != SQLITE_OK) return result;
    file->disk = disk;
    file->is_log = flags & SQLITE_OPEN_CREATE
        && flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL);
    pthread_mutex_lock(&disk->mutex);
    if (path) file->node = opened(disk, path, flags, was_there, size);
    if (!path || file->node) disk->open_files++;
    pthread_mutex_unlock(&disk->mutex);
    if (path && !file->node) {
        file->real->pMethods->xClose(file->real);
        return SQLITE_NOMEM;
    }
    base->pMethods = &pfv_io_methods;
    return SQLITE_OK;
}

/* Removes a name of the real disk and remembers what it was of. With the mutex held. */
static int removed(pfv_disk *disk, const char *path) {
    sqlite3_int64 size = 0;
    struct pfv_name *name = pfv_name_of(disk, path, 1);
    if (!name) return SQLITE_NOMEM;
    if (!name->current && is_there(path, &size)) {
        name->current = pfv_node_new(size);
        if (!name->current) return SQLITE_NOMEM;
        name->durable = name->current;
        name->durable->references++;
    }
    if (name->current) {
        if (!pfv_keep(name->current, path)) return SQLITE_IOERR_DELETE;
        pfv_node_release(name->current);
        name->current = NULL;
    }
    return SQLITE_OK;
}

static int fault_delete(sqlite3_vfs *vfs, const char *path, int sync_folder) {
    pfv_disk *disk = disk_of(vfs);
    int dead, effect = pfv_gate(disk, PFV_DELETE, &dead);
    if (effect >= 0 && (dead || effect != PFV_CUT)) return pfv_code(PFV_DELETE, effect);
    pthread_mutex_lock(&disk->mutex);
    int result = removed(disk, path);
    pthread_mutex_unlock(&disk->mutex);
    if (result != SQLITE_OK) return result;
    result = disk->real->xDelete(disk->real, path, 0);
    if (effect >= 0) return pfv_code(PFV_DELETE, effect);
    if (result == SQLITE_OK && sync_folder) {
        pthread_mutex_lock(&disk->mutex);
        pfv_names_synced(disk);
        pthread_mutex_unlock(&disk->mutex);
    }
    return result;
}

static int fault_access(sqlite3_vfs *vfs, const char *path, int flags, int *out) {
    pfv_disk *disk = disk_of(vfs);
    int dead, effect = pfv_gate(disk, PFV_ACCESS, &dead);
    if (effect >= 0) return pfv_code(PFV_ACCESS, effect);
    return disk->real->xAccess(disk->real, path, flags, out);
}

/* The rest is the real one's. */
static int fault_full(sqlite3_vfs *v, const char *path, int n, char *out) {
    return disk_of(v)->real->xFullPathname(disk_of(v)->real, path, n, out);
}
static int fault_random(sqlite3_vfs *v, int n, char *out) {
    return disk_of(v)->real->xRandomness(disk_of(v)->real, n, out);
}
static int fault_sleep(sqlite3_vfs *v, int us) { return disk_of(v)->real->xSleep(disk_of(v)->real, us); }
static int fault_time(sqlite3_vfs *v, double *out) { return disk_of(v)->real->xCurrentTime(disk_of(v)->real, out); }
static int fault_last_error(sqlite3_vfs *v, int n, char *out) {
    return disk_of(v)->real->xGetLastError(disk_of(v)->real, n, out);
}
static int fault_time64(sqlite3_vfs *v, sqlite3_int64 *out) {
    return disk_of(v)->real->xCurrentTimeInt64(disk_of(v)->real, out);
}

pfv_disk *pfv_disk_new(const char *name) {
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    size_t length = strlen(name) + 1;
    if (!real || sqlite3_vfs_find(name)) return NULL;
    pfv_disk *disk = calloc(1, sizeof *disk + length);
    if (!disk) return NULL;
    memcpy(disk->name, name, length);
    disk->real = real;
    pthread_mutex_init(&disk->mutex, NULL);
    disk->vfs = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = (int)sizeof(struct pfv_file) + real->szOsFile,
        .mxPathname = real->mxPathname,
        .zName = disk->name,
        .xOpen = fault_open,
        .xDelete = fault_delete,
        .xAccess = fault_access,
        .xFullPathname = fault_full,
        .xRandomness = fault_random,
        .xSleep = fault_sleep,
        .xCurrentTime = fault_time,
        .xGetLastError = fault_last_error,
        .xCurrentTimeInt64 = fault_time64,
    };
    if (sqlite3_vfs_register(&disk->vfs, 0) != SQLITE_OK) {
        free(disk);
        return NULL;
    }
    return disk;
}

int pfv_disk_free(pfv_disk *disk) {
    if (pfv_disk_open_files(disk)) return 0;
    sqlite3_vfs_unregister(&disk->vfs);
    while (disk->names) {
        struct pfv_name *name = disk->names;
        disk->names = name->next;
        pfv_node_release(name->current);
        pfv_node_release(name->durable);
        free(name);
    }
    pthread_mutex_destroy(&disk->mutex);
    free(disk);
    return 1;
}

void pfv_disk_arm(pfv_disk *disk, const struct pfv_plan *plan) {
    pthread_mutex_lock(&disk->mutex);
    disk->plan = *plan;
    disk->armed = 1;
    disk->seen = disk->fired = 0;
    pthread_mutex_unlock(&disk->mutex);
}

void pfv_disk_disarm(pfv_disk *disk) {
    pthread_mutex_lock(&disk->mutex);
    disk->armed = 0;
    pthread_mutex_unlock(&disk->mutex);
}

void pfv_disk_cut(pfv_disk *disk, int loss, uint64_t seed) {
    pthread_mutex_lock(&disk->mutex);
    disk->cut = 1;
    disk->loss = loss;
    disk->seed = seed;
    pthread_mutex_unlock(&disk->mutex);
}

/* Reads a number of the disk. */
#define LOCKED(type, expression)                                                                                         \
    pthread_mutex_lock(&disk->mutex);                                                                                    \
    type value = (expression);                                                                                           \
    pthread_mutex_unlock(&disk->mutex);                                                                                  \
    return value

uint64_t pfv_disk_fired(pfv_disk *disk) { LOCKED(uint64_t, disk->fired); }
int pfv_disk_is_cut(pfv_disk *disk) { LOCKED(int, disk->cut); }
int pfv_disk_open_files(pfv_disk *disk) { LOCKED(int, disk->open_files); }

uint64_t pfv_disk_seen(pfv_disk *disk) { LOCKED(uint64_t, disk->seen); }
uint64_t pfv_disk_count(pfv_disk *disk, int op) { LOCKED(uint64_t, disk->counts[op]); }
