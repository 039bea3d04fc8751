/* The client of tools/bench's peers: many connections of one protocol, and the publisher, driven by lines of standard input. */
#ifndef PEAL_PEER_CLIENT_H
#define PEAL_PEER_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PEAL is WebSocket with our frames, TEXT is WebSocket with one text message a delivery, MQTT is MQTT 3.1.1 over TCP. */
enum kind { PEAL, TEXT, MQTT };
/* How it is published: a request with an answer, a WebSocket message, an MQTT message of QoS 0. */
enum way { NONE, HTTP, SOCKET, TOPIC };

struct options {
    enum kind kind;
    int port, count, sources, opening;
    bool reconnect;
    /* PEAL: the project's key; the user's id, or nothing for a device of its own; the device's interest. */
    const char *key, *user, *interest;
    /* TEXT: the path of a connection, and of one that is made again. MQTT: the topic. A `%d` becomes the connection's number. */
    const char *path, *again, *topic;
    enum way way;
    int publishers, publish_port, spread;
    /* `$N` becomes the publish's number modulo `spread`, `$T` 20 digits of nanoseconds, `$L` 250 numbers from 250 times that number. */
    const char *publish_path, *authorization, *body;
};

enum state { IDLE, WAITING, CONNECTING, GREETING, READY };

/* One connection of a subscriber. */
struct link {
    int fd, index;
    enum state state;
    uint8_t *partial;
    size_t held;
    double due;
    bool was_open;
    /* What a device of ours keeps. */
    int64_t position, acknowledged;
    int attempt, tries;
    long drain_low, drain_high;
    char replica[33], secret[96], nonce[96], epoch[24], chain[24], device[96];
};

struct counts {
    long ready, opening, delivered, frames, bytes, answered, failed, refused, closed, busy, gaps, snapshots;
};

/* Growing list of milliseconds. */
struct samples {
    double *values;
    size_t count, room;
};

extern struct options options;
extern struct counts counts;
extern struct samples delivered_after, answered_after;
extern bool timing;
extern int poller;

double now_seconds(void);
void sample(struct samples *samples, double milliseconds);
void fail(const char *what);
/* Writes all of it; the peers read what little we say. False where the connection is gone. */
bool send_all(int fd, const void *bytes, size_t count);
int connect_to(int port, int source);
/* A masked frame of a client; opcode 1 is text, 8 close, 10 pong. */
bool send_frame(int fd, int opcode, const char *payload, size_t count);
bool send_upgrade(int fd, const char *path, const char *subprotocol);
void note_times(const char *bytes, size_t count);

/* protocols.c: greets when the socket is open; takes bytes and says how many it used, below 0 at the end of the connection. */
void protocol_open(struct link *link);
long protocol_take(struct link *link, uint8_t *bytes, size_t count);
void protocol_acknowledge(struct link *link);
void protocol_ping(struct link *link);

/* publish.c */
void publishers_open(void);
bool publishers_event(int index);
/* Publishes so many, each as soon as a publisher is free, or at a rate. */
void publish_begin(long count, double rate);
/* Sends what is due; seconds until the next, or -1. */
double publish_pump(void);
long publish_left(void);

#endif
