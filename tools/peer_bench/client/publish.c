/* The publisher: a few connections that each publish again when they are answered, or all at a rate. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

struct publisher {
    int fd;
    bool busy, opened;
    double began;
    char heard[4096];
    size_t held;
};

static struct publisher *publishers;
static long wanted, sent, number;
static double pace, began;

static void fill(const char *template, long index, char *into, size_t room) {
    size_t used = 0;
    for (const char *at = template; *at && used + 64 < room; at++) {
        if (*at != '$') {
            into[used++] = *at;
        } else if (*++at == 'N') {
            used += snprintf(into + used, room - used, "%ld", index % options.spread);
        } else if (*at == 'T') {
            used += snprintf(into + used, room - used, "@t=%020.0f", now_seconds() * 1e9);
        } else if (*at == 'L') {
            for (int each = 0; each < 250; each++)
                used += snprintf(into + used, room - used, "%sc%ld", each ? "," : "", index % options.spread * 250 + each);
        }
    }
    into[used] = 0;
}

static void publish_http(struct publisher *publisher, long index) {
    static char path[8192], body[8192], request[20000];
    fill(options.publish_path, index, path, sizeof path);
    fill(options.body, index, body, sizeof body);
    int count = snprintf(request, sizeof request,
                         "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%s%s%sContent-Length: %zu\r\n\r\n%s",
                         path, options.authorization ? "Authorization: " : "",
                         options.authorization ? options.authorization : "", options.authorization ? "\r\n" : "",
                         strlen(body), body);
    publisher->busy = true;
    publisher->held = 0;
    if (!send_all(publisher->fd, request, count)) fail("the publisher's connection is gone");
}

static void publish_one(struct publisher *publisher) {
    static char body[8192], topic[256];
    long index = number++;
    sent++;
    publisher->began = now_seconds();
    if (options.way == HTTP) {
        publish_http(publisher, index);
        return;
    }
    fill(options.body, index, body, sizeof body);
    size_t length = strlen(body);
    if (options.way == SOCKET) {
        send_frame(publisher->fd, 1, body, length);
    } else {
        uint8_t packet[9000] = {0x30};
        fill(options.publish_path, index, topic, sizeof topic);
        size_t name = strlen(topic), left = 2 + name + length, at = 1;
        do {
            packet[at++] = (left & 127) | (left > 127 ? 128 : 0);
            left >>= 7;
        } while (left);
        packet[at++] = name >> 8;
        packet[at++] = name & 255;
        memcpy(packet + at, topic, name);
        memcpy(packet + at + name, body, length);
        send_all(publisher->fd, packet, at + name + length);
    }
    counts.answered++;
}

static void connect_publisher(int index) {
    struct publisher *publisher = publishers + index;
    publisher->fd = connect_to(options.publish_port, 0);
    if (publisher->fd < 0) fail("the publisher cannot connect");
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)1 << 32 | index};
    epoll_ctl(poller, EPOLL_CTL_ADD, publisher->fd, &event);
}

void publishers_open(void) {
    if (options.way == NONE) return;
    publishers = calloc(options.publishers, sizeof *publishers);
    for (int index = 0; index < options.publishers; index++) {
        struct publisher *publisher = publishers + index;
        connect_publisher(index);
        publisher->opened = options.way == HTTP;
        if (options.way == SOCKET) send_upgrade(publisher->fd, options.publish_path, 0);
        if (options.way == TOPIC) {
            const uint8_t hello[] = {0x10, 15, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0, 0, 3, 'p', 'u', 'b'};
            send_all(publisher->fd, hello, sizeof hello);
        }
    }
}

/* An answer, or what a socket says when it is open. */
bool publishers_event(int index) {
    struct publisher *publisher = publishers + index;
    ssize_t count = recv(publisher->fd, publisher->heard + publisher->held, sizeof publisher->heard - 1 - publisher->held,
                         MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return true;
    if (count <= 0) {
        /* A server closes a connection on which nobody has asked for a while; the next publish is over another. */
        if (publisher->busy || options.way != HTTP) return false;
        close(publisher->fd);
        publisher->fd = -1;
        return true;
    }
    publisher->opened = true;
    if (options.way != HTTP) return true;
    publisher->held += count;
    publisher->heard[publisher->held] = 0;
    char *end = strstr(publisher->heard, "\r\n\r\n");
    if (!end) return true;
    char *length = strcasestr(publisher->heard, "content-length:");
    size_t whole = end + 4 - publisher->heard + (length && length < end ? strtoul(length + 15, 0, 10) : 0);
    if (publisher->held < whole && whole < sizeof publisher->heard) return true;
    if (publisher->heard[9] != '2') {
        if (!counts.failed) fprintf(stderr, "a publish was answered: %.300s\n", publisher->heard);
        counts.failed++;
    }
    counts.answered++;
    publisher->busy = false;
    if (timing) sample(&answered_after, (now_seconds() - publisher->began) * 1e3);
    return true;
}

void publish_begin(long count, double rate) {
    wanted = count;
    sent = 0;
    pace = rate;
    began = now_seconds();
}

long publish_left(void) { return wanted - sent; }

double publish_pump(void) {
    for (int index = 0; index < options.publishers && options.way != NONE; index++) {
        while (sent < wanted && !publishers[index].busy && publishers[index].opened) {
            double due = pace > 0 ? began + sent / pace - now_seconds() : 0;
            if (due > 0) return due;
            if (publishers[index].fd < 0) connect_publisher(index);
            publish_one(publishers + index);
        }
    }
    return -1;
}
