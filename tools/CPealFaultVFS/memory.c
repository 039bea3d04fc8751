#include "cpealfaultvfs.h"
#include <pthread.h>
#include <sqlite3.h>

static sqlite3_mem_methods real;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t due, seen, fired;
static int is_sticky;

static int fails(void) {
    pthread_mutex_lock(&mutex);
    int is_due = 0;
    if (due) {
        seen++;
        is_due = seen == due || (is_sticky && seen > due);
        fired += (uint64_t)is_due;
    }
    pthread_mutex_unlock(&mutex);
    return is_due;
}

static void *fault_malloc(int size) { return fails() ? NULL : real.xMalloc(size); }

static void *fault_realloc(void *old, int size) {
    /* A block that need not grow is always given. */
    if (size > real.xSize(old) && fails()) return NULL;
    return real.xRealloc(old, size);
}

int pfv_memory_install(void) {
    int result = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
    if (result != SQLITE_OK) return result;
    sqlite3_mem_methods ours = real;
    ours.xMalloc = fault_malloc;
    ours.xRealloc = fault_realloc;
    result = sqlite3_config(SQLITE_CONFIG_MALLOC, &ours);
    if (result != SQLITE_OK) return result;
    return sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
}

void pfv_memory_arm(uint64_t at, int sticky) {
    pthread_mutex_lock(&mutex);
    due = at;
    is_sticky = sticky;
    seen = fired = 0;
    pthread_mutex_unlock(&mutex);
}

static uint64_t locked(const uint64_t *value) {
    pthread_mutex_lock(&mutex);
    uint64_t copy = *value;
    pthread_mutex_unlock(&mutex);
    return copy;
}

uint64_t pfv_memory_fired(void) { return locked(&fired); }
uint64_t pfv_memory_seen(void) { return locked(&seen); }
