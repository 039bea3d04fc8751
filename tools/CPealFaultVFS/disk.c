#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a device writes whole or not at all. */
#define SECTOR 512

struct pfv_name *pfv_name_of(pfv_disk *disk, const char *path, int make) {
    for (struct pfv_name *name = disk->names; name; name = name->next)
        if (!strcmp(name->path, path)) return name;
    if (!make) return NULL;
    size_t length = strlen(path) + 1;
    struct pfv_name *name = calloc(1, sizeof *name + length);
    if (!name) return NULL;
    memcpy(name->path, path, length);
    name->next = disk->names;
    disk->names = name;
    return name;
}

struct pfv_node *pfv_node_new(sqlite3_int64 size) {
    struct pfv_node *node = calloc(1, sizeof *node);
    if (!node) return NULL;
    node->size = size;
    node->references = 1;
    return node;
}

static void forget(struct pfv_node *node) {
    while (node->first) {
        struct pfv_change *change = node->first;
        node->first = change->next;
        free(change);
    }
    node->last = NULL;
}

void pfv_node_release(struct pfv_node *node) {
    if (!node || --node->references) return;
    forget(node);
    free(node->kept);
    free(node);
}

/* Reads of a file, wherever its bytes are. */
static int old_bytes(struct pfv_file *file, void *out, int count, sqlite3_int64 offset) {
    if (!count) return 1;
    if (file->node->kept) {
        memcpy(out, file->node->kept + offset, (size_t)count);
        return 1;
    }
    return file->real->pMethods->xRead(file->real, out, count, offset) == SQLITE_OK;
}

int pfv_remember(struct pfv_file *file, int is_truncation, const void *bytes, int count, sqlite3_int64 offset) {
    struct pfv_node *node = file->node;
    sqlite3_int64 old = node ? node->size - offset : 0;
    if (!node) return 1;
    if (old < 0) old = 0;
    if (!is_truncation && old > count) old = count;
    struct pfv_change *change = calloc(1, sizeof *change + (size_t)count + (size_t)old);
    if (!change) return 0;
    change->is_truncation = is_truncation;
    change->offset = offset;
    change->old_size = node->size;
    change->count = count;
    change->old_count = (int)old;
    if (count) memcpy(change->bytes, bytes, (size_t)count);
    if (!old_bytes(file, change->bytes + count, (int)old, offset)) {
        free(change);
        return 0;
    }
    if (node->last) node->last->next = change; else node->first = change;
    node->last = change;
    if (is_truncation) {
        if (offset < node->size) node->size = offset;
    } else if (offset + count > node->size) {
        node->size = offset + count;
    }
    return 1;
}

void pfv_synced(struct pfv_node *node) {
    int is_lost = 0;
    for (struct pfv_change *change = node->first; change; change = change->next) {
        if (change->state == PFV_LOST) is_lost = 1;
        else change->state = PFV_SYNCED;
    }
    /* Where an earlier sync failed, all that came since has to be redone over what it lost. */
    if (!is_lost) forget(node);
}

/* A kernel may call the pages of a failed sync clean: no later sync writes them. */
void pfv_sync_failed(struct pfv_node *node) {
    for (struct pfv_change *change = node->first; change; change = change->next)
        if (change->state == PFV_PENDING) change->state = PFV_LOST;
}

void pfv_names_synced(pfv_disk *disk) {
    for (struct pfv_name *name = disk->names; name; name = name->next) {
        if (name->durable == name->current) continue;
        pfv_node_release(name->durable);
        name->durable = name->current;
        if (name->durable) name->durable->references++;
    }
}

static unsigned char *read_file(const char *path, sqlite3_int64 size) {
    unsigned char *bytes = calloc(1, (size_t)size + 1);
    FILE *file = fopen(path, "rb");
    size_t count = bytes && file ? fread(bytes, 1, (size_t)size, file) : 0;
    if (file) fclose(file);
    if (bytes && file && count == (size_t)size) return bytes;
    free(bytes);
    return NULL;
}

int pfv_keep(struct pfv_node *node, const char *path) {
    if (!node->kept) node->kept = read_file(path, node->size);
    return node->kept != NULL;
}

/* Power cuts */

/* SplitMix64. */
static uint64_t draw(uint64_t *seed) {
    uint64_t mixed = *seed += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    return mixed ^ mixed >> 31;
}

struct image {
    unsigned char *bytes;
    sqlite3_int64 size, room;
};

static int resize(struct image *image, sqlite3_int64 size) {
    if (size > image->room) {
        unsigned char *bytes = realloc(image->bytes, (size_t)size + 1);
        if (!bytes) return 0;
        image->bytes = bytes;
        image->room = size;
    }
    if (size > image->size) memset(image->bytes + image->size, 0, (size_t)(size - image->size));
    image->size = size;
    return 1;
}

static int undo(struct image *image, const struct pfv_change *change) {
    if (!resize(image, change->old_size)) return 0;
    memcpy(image->bytes + change->offset, change->bytes + change->count, (size_t)change->old_count);
    return 1;
}

static int redo(struct image *image, const struct pfv_change *change, int is_torn, uint64_t *seed) {
    if (change->is_truncation) return change->offset < image->size ? resize(image, change->offset) : 1;
    sqlite3_int64 at = change->offset, end = at + change->count;
    while (at < end) {
        sqlite3_int64 next = (at / SECTOR + 1) * SECTOR;
        if (next > end) next = end;
        if (!is_torn || draw(seed) & 1) {
            if (next > image->size && !resize(image, next)) return 0;
            memcpy(image->bytes + at, change->bytes + (at - change->offset), (size_t)(next - at));
        }
        at = next;
    }
    return 1;
}

/* Turns what a file has now into what the disk has of it. */
static int lose(pfv_disk *disk, const struct pfv_node *node, struct image *image) {
    int count = 0, index = 0;
    for (struct pfv_change *change = node->first; change; change = change->next) count++;
    struct pfv_change **changes = calloc((size_t)count + 1, sizeof *changes);
    if (!changes) return 0;
    for (struct pfv_change *change = node->first; change; change = change->next) changes[index++] = change;
    int good = 1;
    for (index = count - 1; good && index >= 0; index--) good = undo(image, changes[index]);
    for (index = 0; good && index < count; index++) {
        struct pfv_change *change = changes[index];
        uint64_t luck = disk->loss == PFV_LOSE_SOME ? draw(&disk->seed) % 3 : 0;
        if (change->state == PFV_SYNCED) luck = 1;
        if (luck) good = redo(image, change, luck == 2, &disk->seed);
    }
    free(changes);
    return good;
}

static int write_file(const char *path, const struct image *image) {
    FILE *file = fopen(path, "wb");
    if (!file) return errno;
    int result = fwrite(image->bytes, 1, (size_t)image->size, file) == (size_t)image->size ? 0 : EIO;
    if (fclose(file) && !result) result = errno;
    return result;
}

static int restore_name(pfv_disk *disk, struct pfv_name *name) {
    struct pfv_node *chosen = name->durable;
    if (disk->loss == PFV_LOSE_DATA || (disk->loss == PFV_LOSE_SOME && draw(&disk->seed) & 1)) chosen = name->current;
    if (!chosen) {
        unlink(name->path);
    } else if (chosen != name->current || chosen->first) {
        struct image image = {.size = chosen->size, .room = chosen->size};
        image.bytes = chosen->kept ? malloc((size_t)chosen->size + 1) : read_file(name->path, chosen->size);
        if (image.bytes && chosen->kept) memcpy(image.bytes, chosen->kept, (size_t)chosen->size);
        if (!image.bytes) return EIO;
        int result = lose(disk, chosen, &image) ? write_file(name->path, &image) : ENOMEM;
        free(image.bytes);
        if (result) return result;
    }
    if (chosen) chosen->references++;
    pfv_node_release(name->current);
    pfv_node_release(name->durable);
    name->current = name->durable = NULL;
    pfv_node_release(chosen);
    return 0;
}

/* Removes the memory beside a database. */
static void remove_index(const char *path) {
    size_t length = strlen(path);
    char *index = malloc(length + 5);
    if (!index) return;
    memcpy(index, path, length);
    memcpy(index + length, "-shm", 5);
    unlink(index);
    free(index);
}

int pfv_disk_restore(pfv_disk *disk) {
    int result = 0;
    pthread_mutex_lock(&disk->mutex);
    if (disk->open_files) result = EBUSY;
    for (struct pfv_name *name = disk->names; name && !result; name = name->next) {
        result = restore_name(disk, name);
        remove_index(name->path);
    }
    if (!result) disk->cut = disk->armed = 0;
    pthread_mutex_unlock(&disk->mutex);
    return result;
}
