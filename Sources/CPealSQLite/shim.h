#ifndef CPEALSQLITE_SHIM_H
#define CPEALSQLITE_SHIM_H
#include <sqlite3.h>
#endif
