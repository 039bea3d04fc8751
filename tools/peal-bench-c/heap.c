#include <malloc.h>

#include "replica_baseline.h"

unsigned long baseline_heap(void) {
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}
