#include <string.h>

#include "internal.h"

/// One pass; eight ASCII bytes at a time. Refuses overlong forms, surrogates and what lies above U+10FFFF.
bool pws_is_utf8(const unsigned char *bytes, size_t count) {
    const unsigned char *end = bytes + count;
    while (bytes < end) {
        if (end - bytes >= 8) {
            uint64_t eight;
            memcpy(&eight, bytes, sizeof eight);
            if (!(eight & UINT64_C(0x8080808080808080))) {
                bytes += 8;
                continue;
            }
        }
        unsigned char first = *bytes++;
        if (first < 0x80) continue;
        unsigned char low = 0x80, high = 0xBF;
        int more;
        if (first < 0xC2) return false;
        if (first < 0xE0) {
            more = 1;
        } else if (first < 0xF0) {
            more = 2;
            if (first == 0xE0) low = 0xA0;
            if (first == 0xED) high = 0x9F;
        } else if (first < 0xF5) {
            more = 3;
            if (first == 0xF0) low = 0x90;
            if (first == 0xF4) high = 0x8F;
        } else {
            return false;
        }
        if (end - bytes < more) return false;
        if (*bytes < low || *bytes > high) return false;
        for (int i = 1; i < more; i++)
            if ((bytes[i] & 0xC0) != 0x80) return false;
        bytes += more;
    }
    return true;
}
