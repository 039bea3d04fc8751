#ifndef CPEALPOSTGRES_SHIM_H
#define CPEALPOSTGRES_SHIM_H
#include <libpq-fe.h>
#endif
