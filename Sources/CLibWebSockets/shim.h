#ifndef CLIBWEBSOCKETS_SHIM_H
#define CLIBWEBSOCKETS_SHIM_H
/* Only here so that the package manager links the library: CPealWebSocket alone includes libwebsockets.h. */
#include <stddef.h>
#endif
