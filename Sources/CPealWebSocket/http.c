#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

/* One request of plain HTTP. It stays in the phase of connecting, so that its deadline is that of the whole exchange. */

bool pws_http_prepare(pws_connection *c, const pws_client_options *options) {
    c->headers = pws_copy(options->headers ? options->headers : "");
    if (!c->headers) return false;
    c->retry_after = -1;
    c->silence_seconds = options->streams ? options->connect_seconds : 0;
    if (!options->body_count) return true;
    c->body = malloc(LWS_PRE + options->body_count);
    if (!c->body) return false;
    memcpy(c->body + LWS_PRE, options->body, options->body_count);
    c->body_count = options->body_count;
    return true;
}

static int add_headers(pws_connection *c, unsigned char **end, size_t room) {
    if (!c->headers) return 0;
    size_t count = strlen(c->headers);
    /* The line that ends the head comes behind. */
    if (count + 2 >= room) {
        static const char why[] = "the headers of the request are too large";
        pws_connection_why(c, PWS_CODE_LOST, why, sizeof why - 1);
        return -1;
    }
    memcpy(*end, c->headers, count);
    *end += count;
    if (c->body_count) {
        lws_client_http_body_pending(c->wsi, 1);
        lws_callback_on_writable(c->wsi);
    }
    return 0;
}

static int write_body(pws_connection *c) {
    size_t left = c->body_count - c->body_sent;
    if (!left) return 0;
    size_t count = left < PWS_CLIENT_CHUNK ? left : PWS_CLIENT_CHUNK;
    bool last = count == left;
    if (last) lws_client_http_body_pending(c->wsi, 0);
    /* What libwebsockets puts before it lies in what is sent already. */
    if (lws_write(c->wsi, c->body + LWS_PRE + c->body_sent, count, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0)
        return -1;
    c->body_sent += count;
    if (!last) lws_callback_on_writable(c->wsi);
    return 0;
}

/* Where the peer hangs up, libwebsockets may call an answer complete, whatever was missing. It moves `place` for each byte, so
 * where it has not moved there was none. */
static int read_some(pws_connection *c) {
    char buffer[LWS_PRE + PWS_CLIENT_CHUNK], *place = buffer + LWS_PRE;
    int count = PWS_CLIENT_CHUNK;
    c->reading = &place;
    c->read_from = place;
    int result = lws_http_client_read(c->wsi, &place, &count);
    c->reading = NULL;
    return result < 0 ? -1 : 0;
}

static void keep_date(pws_connection *c) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char text[40], month[4];
    struct tm parts = {0};
    if (lws_hdr_copy(c->wsi, text, sizeof text, WSI_TOKEN_HTTP_DATE) <= 0) return;
    /* RFC 9110 section 5.6.7: Sun, 06 Nov 1994 08:49:37 GMT */
    if (sscanf(text, "%*3s, %2d %3s %4d %2d:%2d:%2d", &parts.tm_mday, month, &parts.tm_year, &parts.tm_hour,
               &parts.tm_min, &parts.tm_sec) != 6)
        return;
    const char *found = strstr(months, month);
    if (strlen(month) != 3 || !found || (found - months) % 3) return;
    parts.tm_mon = (int)(found - months) / 3;
    parts.tm_year -= 1900;
    c->date = timegm(&parts);
}

void pws_http_head(pws_connection *c) {
    char text[12];
    keep_date(c);
    pws_keep_certificate(c);
    if (lws_hdr_copy(c->wsi, text, sizeof text, WSI_TOKEN_HTTP_RETRY_AFTER) > 0) {
        char *end;
        long seconds = strtol(text, &end, 10);
        /* A date, which it may be too, is passed over. */
        if (end != text && !*end && seconds >= 0 && seconds <= 86400 * 366) c->retry_after = (int)seconds;
    }
    if (lws_http_client_http_response(c->wsi) != 200) c->silence_seconds = 0;
}

int pws_retry_after(const pws_connection *c) { return c->retry_after; }

int64_t pws_date(const pws_connection *c) { return c->date; }

int64_t pws_certificate_end(const pws_connection *c) { return c->certificate_end; }

const char *pws_certificate_name(const pws_connection *c) { return c->certificate_name; }

const char *pws_library_version(void) { return lws_get_library_version(); }

static int complete(pws_connection *c) {
    static const char cut[] = "the answer was cut off";
    unsigned status = lws_http_client_http_response(c->wsi);
    /* These have no body that could be missing (RFC 9110 sections 15.3.5 and 15.4.5). */
    if (c->reading && *c->reading == c->read_from && status != 204 && status != 304) {
        pws_connection_why(c, PWS_CODE_LOST, cut, sizeof cut - 1);
        return -1;
    }
    pws_connection_why(c, (uint16_t)status, NULL, 0);
    if (!c->silence_seconds) pws_tell(c, PWS_MESSAGE, c->message, c->count);
    return -1; /* the connection is not used again */
}

static int take(pws_connection *c, const void *bytes, size_t count) {
    static const char large[] = "the answer is too large", memory[] = "out of memory";
    if (c->silence_seconds) {
        c->deadline = lws_now_usecs() + (lws_usec_t)c->silence_seconds * LWS_US_PER_SEC;
        pws_tell(c, PWS_MESSAGE, bytes, count);
        return 0;
    }
    if (c->count + count > c->maximum_message) {
        pws_connection_why(c, PWS_CODE_LOST, large, sizeof large - 1);
        return -1;
    }
    if (pws_assemble(c, bytes, count)) return 0;
    pws_connection_why(c, PWS_CODE_LOST, memory, sizeof memory - 1);
    return -1;
}

int pws_on_http(pws_connection *c, enum lws_callback_reasons reason, void *in, size_t count) {
    if (c->phase == PWS_DEAD) return -1;
    switch (reason) {
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        return add_headers(c, in, count);
    case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE:
        return write_body(c);
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP:
        return read_some(c);
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ:
        return take(c, in, count);
    default:
        return complete(c);
    }
}
