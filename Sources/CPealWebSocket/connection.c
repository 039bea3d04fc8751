#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

pws_connection *pws_connection_new(pws_service *service, pws_server *server, void *owner) {
    static _Atomic uint64_t last_id;
    pws_connection *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->service = service;
    c->server = server;
    c->owner = owner;
    c->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
    c->heard = lws_now_usecs();
    c->next = service->connections;
    c->link = &service->connections;
    if (c->next) c->next->link = &c->next;
    service->connections = c;
    service->count++;
    return c;
}

int pws_tell(pws_connection *c, enum pws_event event, const void *bytes, size_t count) {
    return c->owner ? c->service->callback(c->owner, c, event, c->code, bytes, count) : 0;
}

void pws_connection_over(pws_connection *c) {
    *c->link = c->next;
    if (c->next) c->next->link = c->link;
    c->service->count--;
    if (c->server && !pws_handshake_over(c)) c->server->connections--;
    if (c->wsi) lws_set_opaque_user_data(c->wsi, NULL);
    c->wsi = NULL;
    c->phase = PWS_DEAD;
    static const char lost[] = "the connection was lost";
    pws_connection_why(c, PWS_CODE_LOST, lost, sizeof lost - 1);
    pws_tell(c, PWS_CLOSED, c->reason ? c->reason : "", c->reason_count);
    /* It may have come of a timer, which runs before libwebsockets waits; what the owner wants now shall not wait. */
    if (!c->service->destroying) pws_wake(c->service);
    free(c->message);
    free(c->reason);
    free(c->subprotocol);
    free(c->headers);
    free(c->body);
    free(c);
}

void pws_connection_drop(pws_connection *c) {
    struct lws *wsi = c->wsi;
    pws_connection_over(c);
    if (wsi) lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

void pws_connection_why(pws_connection *c, uint16_t code, const void *reason, size_t count) {
    const char *text = reason;
    if (c->code) return;
    c->code = code;
    if (count > PWS_REASON_MAX) {
        count = PWS_REASON_MAX;
        /* not within a character */
        while (count && ((unsigned char)text[count] & 0xC0) == 0x80) count--;
    }
    if (!count) return;
    c->reason = malloc(count);
    if (!c->reason) return;
    memcpy(c->reason, text, count);
    c->reason_count = (uint8_t)count;
}

void pws_connection_kill(pws_connection *c, uint16_t code, const char *reason) {
    pws_connection_why(c, code, reason, strlen(reason));
    c->phase = PWS_DEAD;
    pws_sweep_by(c->service, 0);
}

void pws_heard(pws_connection *c) {
    c->heard = lws_now_usecs();
    c->ping_due = c->ping_sent = false;
}

static void closing(pws_connection *c, enum pws_phase phase) {
    c->phase = phase;
    if (!c->deadline) c->deadline = lws_now_usecs() + PWS_CLOSE_SECONDS * LWS_US_PER_SEC;
    pws_watch(c);
}

/* Has libwebsockets send the close frame; the answer is what its callback must return. */
static int say_goodbye(pws_connection *c) {
    closing(c, PWS_CLOSING);
    lws_close_reason(c->wsi, (enum lws_close_status)c->code, (unsigned char *)c->reason, c->reason_count);
    return -1;
}

/* Closes because of what came in. What waits is not sent: the peer broke the rules. Not from within the receive callback: a
 * client of libwebsockets 4.1 whose callback answers -1 within a frame goes on to write the rest of that frame behind its
 * buffer. */
static int refuse(pws_connection *c, uint16_t code, const char *reason) {
    pws_connection_why(c, code, reason, strlen(reason));
    closing(c, PWS_REFUSING);
    lws_callback_on_writable(c->wsi);
    return 0;
}

/* MARK: receiving */

bool pws_assemble(pws_connection *c, const void *bytes, size_t count) {
    if (c->count + count > c->capacity) {
        size_t capacity = c->capacity ? c->capacity : 4096;
        while (capacity < c->count + count) capacity *= 2;
        uint8_t *grown = realloc(c->message, capacity);
        if (!grown) return false;
        c->message = grown;
        c->capacity = capacity;
    }
    if (count) memcpy(c->message + c->count, bytes, count);
    c->count += count;
    return true;
}

int pws_received(pws_connection *c, void *bytes, size_t count) {
    pws_heard(c);
    if (c->phase != PWS_OPEN) return 0;
    if (lws_frame_is_binary(c->wsi)) return refuse(c, PWS_CODE_PROTOCOL, "messages are text");
    size_t total = c->count + count + lws_remaining_packet_payload(c->wsi);
    if (total > c->maximum_message) return refuse(c, PWS_CODE_TOO_LARGE, "the message is too large");
    bool whole = lws_is_final_fragment(c->wsi);
    if (!whole || c->count) {
        if (!pws_assemble(c, bytes, count)) return refuse(c, PWS_CODE_LATER, "out of memory");
        if (!whole) return 0;
        bytes = c->message;
        count = c->count;
    }
    if (!pws_is_utf8(bytes, count)) return refuse(c, PWS_CODE_PROTOCOL, "the message is not UTF-8");
    /* An idle connection keeps no buffer. */
    uint8_t *message = c->message;
    c->message = NULL;
    c->count = c->capacity = 0;
    pws_tell(c, PWS_MESSAGE, bytes, count);
    free(message);
    return 0;
}

/* MARK: sending */

static bool send_ping(pws_connection *c) {
    /* Not empty: libwebsockets tells nobody of an empty pong. */
    unsigned char ping[LWS_PRE + 4] = {0};
    memcpy(ping + LWS_PRE, "peal", 4);
    c->ping_due = false;
    return lws_write(c->wsi, ping + LWS_PRE, 4, LWS_WRITE_PING) >= 0;
}

int pws_writable(pws_connection *c) {
    if (c->phase == PWS_DEAD) return -1;
    if (c->phase != PWS_OPEN && c->phase != PWS_FLUSHING && c->phase != PWS_REFUSING) return 0;
    if (c->ping_due && !send_ping(c)) return -1;
    if (lws_partial_buffered(c->wsi)) {
        lws_callback_on_writable(c->wsi);
        return 0;
    }
    if (c->wants_write && c->phase != PWS_REFUSING) {
        /* Asked again at once while the kernel took everything: another turn of the loop would cost more than the question.
         * Not for ever, so that one connection does not keep the others waiting. */
        int left = PWS_MESSAGES_A_TURN;
        do {
            c->wants_write = false;
            if (pws_tell(c, PWS_WRITABLE, NULL, 0)) c->wants_write = true;
            if (c->phase == PWS_DEAD) return -1;
        } while (c->wants_write && --left && !lws_partial_buffered(c->wsi));
        if (c->wants_write || lws_partial_buffered(c->wsi)) {
            lws_callback_on_writable(c->wsi);
            return 0;
        }
    }
    return c->phase == PWS_OPEN ? 0 : say_goodbye(c);
}

size_t pws_padding(void) { return LWS_PRE; }

bool pws_write(pws_connection *c, uint8_t *bytes, size_t count) {
    if (lws_write(c->wsi, bytes, count, LWS_WRITE_TEXT) >= 0) return true;
    pws_connection_kill(c, PWS_CODE_LOST, "the connection was lost");
    return false;
}

/* MARK: calls */

uint64_t pws_id(const pws_connection *c) { return c->id; }

void pws_want_write(pws_connection *c) {
    if (c->phase != PWS_OPEN && c->phase != PWS_FLUSHING) return;
    if (c->wants_write) return;
    c->wants_write = true;
    lws_callback_on_writable(c->wsi);
}

void pws_close(pws_connection *c, uint16_t code, const char *reason) {
    if (c->phase == PWS_CONNECTING) {
        pws_connection_kill(c, code, reason);
        return;
    }
    if (c->phase != PWS_OPEN) return;
    pws_connection_why(c, code, reason, strlen(reason));
    pws_read(c, true);
    c->wants_write = true; /* a last look for what waits, asked for or not */
    closing(c, PWS_FLUSHING);
    lws_callback_on_writable(c->wsi);
}

void pws_abort(pws_connection *c) {
    if (c->phase != PWS_DEAD) pws_connection_kill(c, PWS_CODE_LOST, "the connection was dropped");
}

void pws_release(pws_connection *c) {
    c->owner = NULL;
    pws_connection_drop(c);
}

void pws_read(pws_connection *c, bool on) {
    if (c->paused == !on || c->phase != PWS_OPEN) return;
    c->paused = !on;
    pws_heard(c);
    lws_rx_flow_control(c->wsi, on);
    pws_watch(c);
}
