/* client NAME=VALUE…: opens the connections, says {"event":"ready"} and then answers each line of standard input with a line of JSON.
     publish N DELIVERIES [ANSWERS]    publishes N times as fast as answers come, until so many deliveries have come
     paced N RATE DELIVERIES           N times at a rate a second, with the times of each answer and delivery in ms
     drop                              closes every connection
     resume DELIVERIES                 opens every connection again, until so many deliveries have come
     wait                              until every connection is ready (they are made again where reconnect=1)
     counts                            what was counted so far */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

struct options options = {.sources = 1, .opening = 200, .path = "/", .publishers = 1, .spread = 1, .interest = "fan"};
struct counts counts;
struct samples delivered_after, answered_after;
bool timing;
int poller;
static struct link *links;

/* What the line that is being answered waits for. */
static struct {
    enum { NOTHING, READINESS, DELIVERY } what;
    long delivered, answered;
    double began, until;
    struct counts before;
} goal;

/* MARK: Small things */

double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

void fail(const char *what) {
    fprintf(stderr, "client: %s (%ld ready, %ld delivered, %ld answered, %ld failed, %ld refused, %ld closed)\n", what,
            counts.ready, counts.delivered, counts.answered, counts.failed, counts.refused, counts.closed);
    exit(1);
}

void sample(struct samples *samples, double milliseconds) {
    if (samples->count == samples->room) {
        samples->room = samples->room ? 2 * samples->room : 4096;
        samples->values = realloc(samples->values, samples->room * sizeof(double));
    }
    samples->values[samples->count++] = milliseconds;
}

void note_times(const char *bytes, size_t count) {
    if (!timing) return;
    double now = now_seconds();
    const char *at = bytes, *end = bytes + count;
    while ((at = memmem(at, end - at, "@t=", 3))) {
        at += 3;
        sample(&delivered_after, (now - strtod(at, 0) / 1e9) * 1e3);
    }
}

bool send_all(int fd, const void *bytes, size_t count) {
    const char *at = bytes;
    while (count) {
        ssize_t wrote = send(fd, at, count, MSG_NOSIGNAL);
        if (wrote > 0) {
            at += wrote;
            count -= wrote;
        } else if (errno == EAGAIN) {
            struct pollfd poll_one = {.fd = fd, .events = POLLOUT};
            poll(&poll_one, 1, 1000);
        } else {
            return false;
        }
    }
    return true;
}

/* Not blocking; source 0 is the system's choice, others 127.0.0.x, for more connections than one address has ports. */
int connect_to(int port, int source) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0) return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + source)};
    if (source) bind(fd, (struct sockaddr *)&address, sizeof address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A mask of zeros is as good as another on the way, and leaves the bytes. */
bool send_frame(int fd, int opcode, const char *payload, size_t count) {
    uint8_t frame[10000] = {128 | opcode};
    size_t head = 2;
    if (count > sizeof frame - 8) fail("a frame is too long");
    if (count < 126) {
        frame[1] = 128 | count;
    } else {
        frame[1] = 128 | 126;
        frame[2] = count >> 8;
        frame[3] = count & 255;
        head = 4;
    }
    memset(frame + head, 0, 4);
    memcpy(frame + head + 4, payload, count);
    return send_all(fd, frame, head + 4 + count);
}

bool send_upgrade(int fd, const char *path, const char *subprotocol) {
    char request[600];
    int count = snprintf(request, sizeof request,
                         "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                         "Sec-WebSocket-Key: cGVhbC1iZW5jaC1wZWVyMQ==\r\nSec-WebSocket-Version: 13\r\n%s%s%s\r\n",
                         path, subprotocol ? "Sec-WebSocket-Protocol: " : "", subprotocol ? subprotocol : "",
                         subprotocol ? "\r\n" : "");
    return send_all(fd, request, count);
}

/* MARK: Connections */

static void open_link(struct link *link) {
    link->fd = connect_to(options.port, options.sources > 1 ? 1 + link->index % options.sources : 0);
    if (link->fd < 0) {
        if (!options.reconnect) fail("cannot connect");
        counts.refused++;
        link->due = now_seconds() + 0.2;
        link->state = WAITING;
        return;
    }
    link->state = CONNECTING;
    link->held = 0;
    link->acknowledged = link->position;
    counts.opening++;
    struct epoll_event event = {.events = EPOLLOUT, .data.u64 = link->index};
    epoll_ctl(poller, EPOLL_CTL_ADD, link->fd, &event);
}

/* Where it is made again, as a device of ours does: within the drain's spread, or with a growing, random wait. */
static void close_link(struct link *link) {
    if (link->state == READY) counts.ready--;
    else counts.opening--;
    close(link->fd);
    link->fd = -1;
    link->state = options.reconnect ? WAITING : IDLE;
    counts.closed++;
    double low = 0, high = link->tries < 6 ? 1 << link->tries : 60;
    link->tries++;
    if (link->drain_high) {
        low = link->drain_low / 1e3;
        high = link->drain_high / 1e3;
    }
    link->drain_high = 0;
    link->due = now_seconds() + low + (high - low) * rand() / RAND_MAX;
}

static void read_link(struct link *link) {
    static uint8_t bytes[1 << 19];
    memcpy(bytes, link->partial, link->held);
    ssize_t came = recv(link->fd, bytes + link->held, sizeof bytes - link->held, MSG_DONTWAIT);
    if (came < 0 && errno == EAGAIN) return;
    size_t count = link->held + (came > 0 ? came : 0);
    long used = came > 0 ? protocol_take(link, bytes, count) : -1;
    if (used < 0) {
        close_link(link);
        return;
    }
    link->held = count - used;
    link->partial = realloc(link->partial, link->held ? link->held : 1);
    memcpy(link->partial, bytes + used, link->held);
}

static void link_event(struct link *link, uint32_t events) {
    if (link->fd < 0) return;
    if (events & EPOLLOUT) {
        int error = 0;
        socklen_t size = sizeof error;
        getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error) {
            counts.refused++;
            if (!options.reconnect) fail("cannot connect");
            close_link(link);
            return;
        }
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = link->index};
        epoll_ctl(poller, EPOLL_CTL_MOD, link->fd, &event);
        protocol_open(link);
    } else {
        read_link(link);
    }
}

/* Opens what is to be opened, so many at once; the listener's queue is not what is measured. */
static double open_due(void) {
    static int next;
    double now = now_seconds(), soonest = -1;
    for (int looked = 0; looked < options.count && counts.opening < options.opening; looked++) {
        struct link *link = links + next;
        next = (next + 1) % options.count;
        if (link->state != WAITING) continue;
        if (link->due <= now)
            open_link(link);
        else if (soonest < 0 || link->due - now < soonest)
            soonest = link->due - now;
    }
    return soonest;
}

/* MARK: Lines */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_samples(const char *name, struct samples *samples) {
    if (!samples->count) return;
    qsort(samples->values, samples->count, sizeof(double), by_size);
    printf(",\"%s\":{\"count\":%zu,\"p50\":%.3f,\"p90\":%.3f,\"p99\":%.3f,\"max\":%.3f}", name, samples->count,
           samples->values[samples->count / 2], samples->values[samples->count * 9 / 10],
           samples->values[samples->count * 99 / 100], samples->values[samples->count - 1]);
    samples->count = 0;
}

static void answer(const char *event) {
    printf("{\"event\":\"%s\",\"seconds\":%.6f,\"ready\":%ld,\"delivered\":%ld,\"frames\":%ld,\"bytes\":%ld,\"answered\":%ld,"
           "\"failed\":%ld,\"refused\":%ld,\"closed\":%ld,\"busy\":%ld,\"gaps\":%ld,\"snapshots\":%ld",
           event, now_seconds() - goal.began, counts.ready, counts.delivered - goal.before.delivered,
           counts.frames - goal.before.frames, counts.bytes - goal.before.bytes, counts.answered - goal.before.answered,
           counts.failed, counts.refused, counts.closed, counts.busy, counts.gaps, counts.snapshots);
    print_samples("answer_ms", &answered_after);
    print_samples("delivery_ms", &delivered_after);
    printf("}\n");
    fflush(stdout);
}

static void seek(int what, long delivered, long answered) {
    goal.what = what;
    goal.before = counts;
    goal.began = now_seconds();
    goal.until = goal.began + 300;
    goal.delivered = counts.delivered + delivered;
    goal.answered = counts.answered + answered;
}

static void check_goal(void) {
    bool met = goal.what == READINESS ? counts.ready == options.count
                                      : counts.delivered >= goal.delivered && counts.answered >= goal.answered;
    if (!met) {
        if (now_seconds() > goal.until) fail("it did not come in five minutes");
        return;
    }
    goal.what = NOTHING;
    timing = false;
    answer("done");
    /* The credit of a round belongs to its cost. */
    for (int index = 0; index < options.count; index++) protocol_acknowledge(links + index);
}

static void command(const char *line) {
    long count = 0, deliveries = 0;
    double rate = 0;
    if (sscanf(line, "publish %ld %ld", &count, &deliveries) == 2) {
        seek(DELIVERY, deliveries, count);
        publish_begin(count, 0);
    } else if (sscanf(line, "paced %ld %lf %ld", &count, &rate, &deliveries) == 3) {
        timing = true;
        seek(DELIVERY, deliveries, count);
        publish_begin(count, rate);
    } else if (strncmp(line, "drop", 4) == 0) {
        options.reconnect = false;
        goal.before = counts;
        goal.began = now_seconds();
        for (int index = 0; index < options.count; index++)
            if (links[index].fd >= 0) close_link(links + index);
        answer("dropped");
    } else if (sscanf(line, "resume %ld", &deliveries) == 1) {
        for (int index = 0; index < options.count; index++) {
            links[index].state = WAITING;
            links[index].due = 0;
        }
        seek(DELIVERY, deliveries, 0);
    } else if (strncmp(line, "wait", 4) == 0) {
        seek(READINESS, 0, 0);
    } else if (strncmp(line, "counts", 6) == 0) {
        answer("counts");
    } else {
        fail("no such line");
    }
}

static bool read_lines(void) {
    static char lines[4096];
    static size_t held;
    ssize_t count = read(0, lines + held, sizeof lines - 1 - held);
    if (count <= 0) return false;
    held += count;
    lines[held] = 0;
    char *end = strchr(lines, '\n');
    if (!end) return true;
    *end = 0;
    command(lines);
    held = 0;
    return true;
}

/* MARK: Start */

static void option(const char *word) {
    const char *value = strchr(word, '=');
    if (!value) fail("options are NAME=VALUE");
    size_t length = value++ - word;
#define IS(name) (length == strlen(name) && memcmp(word, name, length) == 0)
    if (IS("kind")) options.kind = !strcmp(value, "peal") ? PEAL : !strcmp(value, "mqtt") ? MQTT : TEXT;
    else if (IS("port")) options.port = atoi(value);
    else if (IS("count")) options.count = atoi(value);
    else if (IS("sources")) options.sources = atoi(value);
    else if (IS("opening")) options.opening = atoi(value);
    else if (IS("reconnect")) options.reconnect = atoi(value);
    else if (IS("key")) options.key = value;
    else if (IS("user")) options.user = value;
    else if (IS("interest")) options.interest = value;
    else if (IS("path")) options.path = value;
    else if (IS("again")) options.again = value;
    else if (IS("topic")) options.topic = value;
    else if (IS("way")) options.way = !strcmp(value, "http") ? HTTP : !strcmp(value, "socket") ? SOCKET : TOPIC;
    else if (IS("publishers")) options.publishers = atoi(value);
    else if (IS("publish_port")) options.publish_port = atoi(value);
    else if (IS("publish_path")) options.publish_path = value;
    else if (IS("authorization")) options.authorization = value;
    else if (IS("spread")) options.spread = atoi(value);
    else if (IS("body")) options.body = value;
    else fail("no such option");
#undef IS
}

int main(int count, char **words) {
    for (int index = 1; index < count; index++) option(words[index]);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    unsigned seed;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) fail("no random numbers");
    srand(seed);
    poller = epoll_create1(EPOLL_CLOEXEC);
    links = calloc(options.count ? options.count : 1, sizeof *links);
    for (int index = 0; index < options.count; index++)
        links[index] = (struct link){.fd = -1, .index = index, .state = WAITING, .partial = malloc(1)};
    publishers_open();
    struct epoll_event input = {.events = EPOLLIN, .data.u64 = UINT64_MAX};
    epoll_ctl(poller, EPOLL_CTL_ADD, 0, &input);
    seek(READINESS, 0, 0);
    double second = now_seconds(), pinged = second;
    for (;;) {
        double next = publish_pump(), open = options.count && counts.ready + counts.opening < options.count ? open_due() : -1;
        if (goal.what != NOTHING) check_goal();
        double wait = 1;
        if (next >= 0 && next < wait) wait = next;
        if (open >= 0 && open < wait) wait = open;
        struct epoll_event events[256];
        int came = epoll_wait(poller, events, 256, (int)(wait * 1e3));
        for (int index = 0; index < came; index++) {
            uint64_t which = events[index].data.u64;
            if (which == UINT64_MAX) {
                if (!read_lines()) return 0;
            } else if (which >> 32) {
                if (!publishers_event((int)which)) fail("the publisher's connection ended");
            } else {
                link_event(links + which, events[index].events);
            }
        }
        double now = now_seconds();
        if (now - second >= 1) {
            second = now;
            for (int index = 0; index < options.count; index++) protocol_acknowledge(links + index);
        }
        if (now - pinged >= 20) {
            pinged = now;
            for (int index = 0; index < options.count; index++) protocol_ping(links + index);
        }
    }
}
