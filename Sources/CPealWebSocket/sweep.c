#include "internal.h"

/* The shortest time between two sweeps that no death asked for: one sweep looks at every connection. */
#define SWEEP_US (50 * LWS_US_PER_MS)
static const lws_usec_t never = INT64_MAX;

static lws_usec_t after(const pws_connection *c, uint32_t seconds) {
    return seconds ? c->heard + (lws_usec_t)seconds * LWS_US_PER_SEC : never;
}

/* When this connection needs the sweep next; 0: it is dead. */
static lws_usec_t examine(pws_connection *c, lws_usec_t now) {
    static const char late[] = "no answer within the time for connecting", silent[] = "silence, not even an answer to a ping";
    switch (c->phase) {
    case PWS_DEAD:
        return c->creating ? never : 0;
    case PWS_CONNECTING:
        if (c->creating || !c->deadline) return never;
        if (now < c->deadline) return c->deadline;
        pws_connection_why(c, PWS_CODE_LOST, late, sizeof late - 1);
        return 0;
    case PWS_FLUSHING:
    case PWS_REFUSING:
    case PWS_CLOSING:
        return now < c->deadline ? c->deadline : 0;
    default:
        break;
    }
    if (c->paused) return never;
    lws_usec_t hangup = after(c, c->hangup_seconds), ping = c->ping_sent ? never : after(c, c->ping_seconds);
    if (now >= hangup) {
        pws_connection_why(c, PWS_CODE_LOST, silent, sizeof silent - 1);
        return 0;
    }
    if (now >= ping) {
        c->ping_sent = c->ping_due = true;
        lws_callback_on_writable(c->wsi);
        ping = never;
    }
    return ping < hangup ? ping : hangup;
}

void pws_on_sweep(lws_sorted_usec_list_t *entry) {
    pws_service *service = lws_container_of(entry, pws_service, sweep);
    lws_usec_t now = lws_now_usecs(), next = never;
    service->sweep_at = never;
    pws_connection *dead = NULL;
    for (pws_connection *c = service->connections, *following; c; c = following) {
        following = c->next;
        lws_usec_t at = examine(c, now);
        if (!at) {
            /* An owner may do anything in its event, so the dead are told when the walk is over. */
            *c->link = following;
            if (following) following->link = c->link;
            c->phase = PWS_DEAD;
            c->next = dead;
            c->link = &dead;
            if (dead) dead->link = &c->next;
            dead = c;
        } else if (at < next) {
            next = at;
        }
    }
    while (dead) pws_connection_drop(dead);
    if (next != never) pws_sweep_by(service, next < now + SWEEP_US ? now + SWEEP_US : next);
}

void pws_sweep_by(pws_service *service, lws_usec_t when) {
    if (when >= service->sweep_at) return;
    service->sweep_at = when;
    lws_usec_t now = lws_now_usecs();
    lws_sul_schedule(service->context, 0, &service->sweep, pws_on_sweep, when > now ? when - now : 1);
}

void pws_watch(pws_connection *c) {
    if (c->deadline) pws_sweep_by(c->service, c->deadline);
    if (c->phase != PWS_OPEN || c->paused) return;
    pws_sweep_by(c->service, after(c, c->ping_seconds));
    pws_sweep_by(c->service, after(c, c->hangup_seconds));
}
