#define _GNU_SOURCE
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

#include "replica_baseline.h"

unsigned long baseline_heap(void) {
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

static atomic_long allocations, allocated;
static atomic_int counting;

void allocation_count_start(void) { atomic_store(&counting, 1); }
int64_t allocation_count(void) { return atomic_load(&allocations); }
int64_t allocation_bytes(void) { return atomic_load(&allocated); }

#ifdef __GLIBC__
/* The program's own malloc comes before the C library's, for every library in the process; it counts where it was asked to, and hands on. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static inline void count(size_t size) {
    if (!atomic_load_explicit(&counting, memory_order_relaxed)) return;
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&allocated, size, memory_order_relaxed);
}

void *malloc(size_t size) {
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    count(size);
    return __libc_realloc(old, size);
}
#endif
