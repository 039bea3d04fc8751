#include "internal.h"

static struct pfv_file *file_of(sqlite3_file *base) { return (struct pfv_file *)base; }
static const sqlite3_io_methods *methods(sqlite3_file *base) { return file_of(base)->real->pMethods; }

static int fault_close(sqlite3_file *base) {
    struct pfv_file *file = file_of(base);
    int result = methods(base)->xClose(file->real);
    pthread_mutex_lock(&file->disk->mutex);
    /* What was not synced is not synced by closing. */
    if (file->node) pfv_node_release(file->node);
    file->disk->open_files--;
    pthread_mutex_unlock(&file->disk->mutex);
    return result;
}

static int fault_read(sqlite3_file *base, void *bytes, int count, sqlite3_int64 offset) {
    int dead, effect = pfv_gate(file_of(base)->disk, PFV_READ, &dead);
    if (effect >= 0) return pfv_code(PFV_READ, effect);
    return methods(base)->xRead(file_of(base)->real, bytes, count, offset);
}

/* Writes to the real file, remembered where a power cut may take it back. */
static int write_through(struct pfv_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    pthread_mutex_lock(&file->disk->mutex);
    int result = pfv_remember(file, 0, bytes, count, offset) ? SQLITE_OK : SQLITE_NOMEM;
    if (result == SQLITE_OK) result = file->real->pMethods->xWrite(file->real, bytes, count, offset);
    pthread_mutex_unlock(&file->disk->mutex);
    return result;
}

static int fault_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
    struct pfv_file *file = file_of(base);
    int dead, effect = pfv_gate(file->disk, PFV_WRITE, &dead);
    if (effect < 0) return write_through(file, bytes, count, offset);
    /* A write that the power cut falls on is one of those that were not synced. */
    if (effect == PFV_CUT && !dead) write_through(file, bytes, count, offset);
    if (effect == PFV_SHORT && count > 1) write_through(file, bytes, count / 2, offset);
    return pfv_code(PFV_WRITE, effect);
}

static int fault_truncate(sqlite3_file *base, sqlite3_int64 size) {
    struct pfv_file *file = file_of(base);
    int dead, effect = pfv_gate(file->disk, PFV_TRUNCATE, &dead);
    if (effect >= 0 && (effect != PFV_CUT || dead)) return pfv_code(PFV_TRUNCATE, effect);
    pthread_mutex_lock(&file->disk->mutex);
    int result = pfv_remember(file, 1, NULL, 0, size) ? SQLITE_OK : SQLITE_NOMEM;
    if (result == SQLITE_OK) result = methods(base)->xTruncate(file->real, size);
    pthread_mutex_unlock(&file->disk->mutex);
    return effect >= 0 ? pfv_code(PFV_TRUNCATE, effect) : result;
}

/* The real disk is not asked to sync: what a power cut leaves is computed, and a process that dies loses no write. */
static int fault_sync(sqlite3_file *base, int flags) {
    struct pfv_file *file = file_of(base);
    int dead, effect = pfv_gate(file->disk, PFV_SYNC, &dead);
    (void)flags;
    pthread_mutex_lock(&file->disk->mutex);
    if (effect < 0) {
        if (file->node) pfv_synced(file->node);
        if (file->is_log) pfv_names_synced(file->disk);
        file->is_log = 0;
    } else if (effect != PFV_CUT && file->node) {
        pfv_sync_failed(file->node);
    }
    pthread_mutex_unlock(&file->disk->mutex);
    return effect < 0 ? SQLITE_OK : pfv_code(PFV_SYNC, effect);
}

static int fault_size(sqlite3_file *base, sqlite3_int64 *out) {
    int dead, effect = pfv_gate(file_of(base)->disk, PFV_SIZE, &dead);
    if (effect >= 0) return pfv_code(PFV_SIZE, effect);
    return methods(base)->xFileSize(file_of(base)->real, out);
}

static int fault_lock(sqlite3_file *base, int level) {
    int dead, effect = pfv_gate(file_of(base)->disk, PFV_LOCK, &dead);
    if (effect >= 0) return pfv_code(PFV_LOCK, effect);
    return methods(base)->xLock(file_of(base)->real, level);
}

static int fault_unlock(sqlite3_file *base, int level) {
    return methods(base)->xUnlock(file_of(base)->real, level);
}

static int fault_reserved(sqlite3_file *base, int *out) {
    int dead, effect = pfv_gate(file_of(base)->disk, PFV_LOCK, &dead);
    if (effect >= 0) return SQLITE_IOERR_CHECKRESERVEDLOCK;
    return methods(base)->xCheckReservedLock(file_of(base)->real, out);
}

static int fault_control(sqlite3_file *base, int op, void *argument) {
    return methods(base)->xFileControl(file_of(base)->real, op, argument);
}

static int fault_sector(sqlite3_file *base) { return methods(base)->xSectorSize(file_of(base)->real); }
static int fault_character(sqlite3_file *base) {
    return methods(base)->xDeviceCharacteristics(file_of(base)->real);
}

static int fault_shm_map(sqlite3_file *base, int page, int size, int extend, void volatile **out) {
    int dead, effect = pfv_gate(file_of(base)->disk, PFV_SHM_MAP, &dead);
    if (effect >= 0) return pfv_code(PFV_SHM_MAP, effect);
    return methods(base)->xShmMap(file_of(base)->real, page, size, extend, out);
}

static int fault_shm_lock(sqlite3_file *base, int offset, int count, int flags) {
    if (flags & SQLITE_SHM_LOCK) {
        int dead, effect = pfv_gate(file_of(base)->disk, PFV_SHM_LOCK, &dead);
        if (effect >= 0) return pfv_code(PFV_SHM_LOCK, effect);
    }
    return methods(base)->xShmLock(file_of(base)->real, offset, count, flags);
}

static void fault_shm_barrier(sqlite3_file *base) { methods(base)->xShmBarrier(file_of(base)->real); }
static int fault_shm_unmap(sqlite3_file *base, int removes) {
    return methods(base)->xShmUnmap(file_of(base)->real, removes);
}

/* Version 2: without memory-mapped files, whose writes nobody would see. */
const sqlite3_io_methods pfv_io_methods = {
    .iVersion = 2,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_size,
    .xLock = fault_lock,
    .xUnlock = fault_unlock,
    .xCheckReservedLock = fault_reserved,
    .xFileControl = fault_control,
    .xSectorSize = fault_sector,
    .xDeviceCharacteristics = fault_character,
    .xShmMap = fault_shm_map,
    .xShmLock = fault_shm_lock,
    .xShmBarrier = fault_shm_barrier,
    .xShmUnmap = fault_shm_unmap,
};
