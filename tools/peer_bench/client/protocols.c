/* What a subscriber says and hears, in each of the three protocols. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

static void become_ready(struct link *link) {
    if (link->state == READY) return;
    link->state = READY;
    link->tries = 0;
    counts.opening--;
    counts.ready++;
}

/* A member's value within the first bytes of a frame; strings lose their quotes. */
static bool member(const char *text, size_t count, const char *name, char *value, size_t room) {
    char key[40];
    int length = snprintf(key, sizeof key, "\"%s\":", name);
    const char *found = memmem(text, count, key, length);
    if (!found) return false;
    const char *at = found + length, *end = text + count;
    char stop = *at == '"' ? '"' : ',';
    if (stop == '"') at++;
    size_t used = 0;
    while (at < end && *at != stop && *at != '}' && used + 1 < room) value[used++] = *at++;
    value[used] = 0;
    return true;
}

static int64_t number(const char *text, size_t count, const char *name) {
    char value[32];
    return member(text, count, name, value, sizeof value) ? strtoll(value, 0, 10) : -1;
}

/* MARK: Our frames */

static void hello(struct link *link) {
    char inbox[256], proof[160], cursor[160], frame[1200], user[96];
    if (options.user) {
        snprintf(user, sizeof user, options.user, link->index);
        snprintf(inbox, sizeof inbox, "{\"kind\":\"user\",\"externalId\":\"%s\"}", user);
    } else if (link->device[0]) {
        snprintf(inbox, sizeof inbox, "{\"kind\":\"device\",\"id\":\"%s\"}", link->device);
    } else {
        snprintf(inbox, sizeof inbox, "{\"kind\":\"device\"}");
    }
    if (!link->replica[0])
        snprintf(link->replica, sizeof link->replica, "%08x%08x%08x%08x", rand(), rand(), rand(), link->index);
    proof[0] = 0;
    if (link->secret[0]) snprintf(proof, sizeof proof, "\"secret\":\"%s\"", link->secret);
    if (link->epoch[0])
        snprintf(cursor, sizeof cursor, "{\"epoch\":\"%s\",\"position\":%lld,\"chain\":\"%s\"}", link->epoch,
                 (long long)link->position, link->chain);
    else
        snprintf(cursor, sizeof cursor, "{\"position\":0,\"chain\":\"0000000000000000\"}");
    int count = snprintf(frame, sizeof frame,
                         "{\"type\":\"hello\",\"v\":1,\"project\":\"%s\",\"inbox\":%s,\"replica\":\"%s\",\"proof\":{%s},"
                         "\"attempt\":%d,\"nonce\":\"%s\",\"cursor\":%s,\"outbox\":{\"low\":0,\"high\":0},"
                         "\"window\":{\"entries\":4096,\"bytes\":1048576}}",
                         options.key, inbox, link->replica, proof, ++link->attempt, link->nonce, cursor);
    send_frame(link->fd, 1, frame, count);
}

static void welcome(struct link *link, const char *text, size_t count) {
    char mode[24] = "", inbox[96] = "";
    member(text, count, "mode", mode, sizeof mode);
    member(text, count, "secret", link->secret, sizeof link->secret);
    member(text, count, "nonce", link->nonce, sizeof link->nonce);
    member(text, count, "inbox", inbox, sizeof inbox);
    member(text, count, "epoch", link->epoch, sizeof link->epoch);
    if (!options.user) memcpy(link->device, inbox, sizeof inbox);
    if (strcmp(mode, "resume") != 0) counts.snapshots++;
    if (link->was_open || options.user) {
        link->was_open = true;
        become_ready(link);
        if (options.user) send_frame(link->fd, 1, "{\"type\":\"got\",\"to\":0}", 21);
        return;
    }
    char push[400];
    int length = snprintf(push, sizeof push,
                          "{\"type\":\"push\",\"mutations\":[{\"n\":1,\"uid\":\"%08x%08x\",\"observed\":0,\"observedTime\":0,"
                          "\"age\":0,\"op\":{\"op\":\"interest\",\"name\":\"%s\",\"on\":true}}]}",
                          rand(), link->index, options.interest);
    send_frame(link->fd, 1, push, length);
}

static void batch(struct link *link, const char *text, size_t count) {
    size_t head = count < 200 ? count : 200;
    int64_t from = number(text, head, "from"), to = number(text, head, "to");
    if (from != link->position) counts.gaps++;
    member(text, head, "chain", link->chain, sizeof link->chain);
    link->position = to;
    counts.frames++;
    counts.bytes += count;
    if (!link->was_open) {
        /* The interest that was pushed. */
        link->was_open = true;
        become_ready(link);
        protocol_acknowledge(link);
        return;
    }
    counts.delivered += to - from;
    note_times(text, count);
    if (link->position - link->acknowledged >= 2048) protocol_acknowledge(link);
}

void protocol_acknowledge(struct link *link) {
    if (options.kind != PEAL || link->state != READY || link->position <= link->acknowledged) return;
    char frame[64];
    int count = snprintf(frame, sizeof frame, "{\"type\":\"got\",\"to\":%lld}", (long long)link->position);
    link->acknowledged = link->position;
    send_frame(link->fd, 1, frame, count);
}

void protocol_ping(struct link *link) {
    if (options.kind == PEAL && link->state == READY) send_frame(link->fd, 1, "{\"type\":\"ping\"}", 15);
}

static bool has_type(const char *text, size_t count, const char *type) {
    size_t length = strlen(type);
    return count > 10 + length && memcmp(text, "{\"type\":\"", 9) == 0 && memcmp(text + 9, type, length) == 0 &&
           text[9 + length] == '"';
}

static void heard(struct link *link, const char *text, size_t count) {
    if (options.kind == TEXT) {
        counts.frames++;
        counts.delivered++;
        counts.bytes += count;
        note_times(text, count);
    } else if (has_type(text, count, "batch")) {
        batch(link, text, count);
    } else if (has_type(text, count, "welcome")) {
        welcome(link, text, count);
    } else if (has_type(text, count, "busy")) {
        counts.busy++;
        link->drain_low = number(text, count, "retryAfter");
        link->drain_high = 2 * link->drain_low;
    } else if (has_type(text, count, "drain")) {
        sscanf(text, "{\"type\":\"drain\",\"spread\":[%ld,%ld]", &link->drain_low, &link->drain_high);
    } else if (has_type(text, count, "error")) {
        fprintf(stderr, "the hub says: %.*s\n", (int)count, text);
    }
}

/* MARK: WebSocket */

static long upgrade(struct link *link, uint8_t *bytes, size_t count) {
    uint8_t *end = memmem(bytes, count, "\r\n\r\n", 4);
    if (!end) return 0;
    if (count < 12 || memcmp(bytes + 9, "101", 3) != 0) {
        counts.refused++;
        return -1;
    }
    link->state = GREETING;
    if (options.kind == PEAL)
        hello(link);
    else
        become_ready(link);
    return end + 4 - bytes;
}

static long frame(struct link *link, uint8_t *bytes, size_t count) {
    if (count < 2) return 0;
    size_t length = bytes[1] & 127, head = 2;
    if (length == 126) {
        if (count < 4) return 0;
        length = (size_t)bytes[2] << 8 | bytes[3];
        head = 4;
    } else if (length == 127) {
        if (count < 10) return 0;
        length = 0;
        for (int index = 2; index < 10; index++) length = length << 8 | bytes[index];
        head = 10;
    }
    if (count < head + length) return 0;
    int opcode = bytes[0] & 15;
    if (!(bytes[0] & 128) || opcode == 0) fail("a message came in pieces");
    char *payload = (char *)bytes + head;
    if (opcode == 1 || opcode == 2) heard(link, payload, length);
    if (opcode == 8) return -1;
    if (opcode == 9) send_frame(link->fd, 10, payload, length);
    return head + length;
}

/* MARK: MQTT */

static size_t mqtt_text(uint8_t *into, const char *text) {
    size_t length = strlen(text);
    into[0] = length >> 8;
    into[1] = length & 255;
    memcpy(into + 2, text, length);
    return length + 2;
}

static void mqtt_subscribe(struct link *link) {
    uint8_t packet[256] = {0x82, 0, 0, 1};
    char topic[128];
    snprintf(topic, sizeof topic, options.topic, link->index);
    size_t count = 4 + mqtt_text(packet + 4, topic);
    packet[count++] = 0;
    packet[1] = count - 2;
    send_all(link->fd, packet, count);
}

static long mqtt(struct link *link, uint8_t *bytes, size_t count) {
    size_t length = 0, head = 1;
    for (int shift = 0;; shift += 7) {
        if (head >= count) return 0;
        uint8_t byte = bytes[head++];
        length |= (size_t)(byte & 127) << shift;
        if (!(byte & 128)) break;
    }
    if (count < head + length) return 0;
    switch (bytes[0] >> 4) {
    case 2: mqtt_subscribe(link); break;
    case 9: become_ready(link); break;
    case 3:
        counts.frames++;
        counts.delivered++;
        counts.bytes += length;
        note_times((char *)bytes + head, length);
        break;
    }
    return head + length;
}

/* MARK: Both */

void protocol_open(struct link *link) {
    char path[128];
    if (options.kind == MQTT) {
        uint8_t packet[128] = {0x10, 0, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0};
        char name[40];
        snprintf(name, sizeof name, "s%d-%d", link->index, options.port);
        size_t count = 12 + mqtt_text(packet + 12, name);
        packet[1] = count - 2;
        link->state = GREETING;
        send_all(link->fd, packet, count);
        return;
    }
    snprintf(path, sizeof path, link->was_open && options.again ? options.again : options.path, link->index);
    if (options.kind == TEXT) link->was_open = true;
    send_upgrade(link->fd, path, options.kind == PEAL ? "peal.v1.json" : 0);
}

long protocol_take(struct link *link, uint8_t *bytes, size_t count) {
    size_t used = 0;
    while (used < count) {
        long step = options.kind == MQTT ? mqtt(link, bytes + used, count - used)
                    : link->state == CONNECTING ? upgrade(link, bytes + used, count - used)
                                                : frame(link, bytes + used, count - used);
        if (step < 0) return -1;
        if (step == 0) break;
        used += step;
    }
    return used;
}
