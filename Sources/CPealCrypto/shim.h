#ifndef CPEALCRYPTO_SHIM_H
#define CPEALCRYPTO_SHIM_H
#include <openssl/evp.h>
#endif
