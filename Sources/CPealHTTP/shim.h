#ifndef CPEALHTTP_SHIM_H
#define CPEALHTTP_SHIM_H
#include <microhttpd.h>
#endif
