#include "cpealwebsocket.h"
