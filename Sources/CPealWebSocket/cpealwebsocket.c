#define _GNU_SOURCE
#include "cpealwebsocket.h"

#include <libwebsockets.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Our close codes (SYNC.md section 6) for what this layer notices itself. */
enum { CLOSE_TOO_LARGE = 4104, CLOSE_PROTOCOL = 4203, CLOSE_ABNORMAL = 1006, CLOSE_NO_STATUS = 1005 };
enum { CLOSE_SECONDS = 5, REASON_MAX = 123 };

struct pws_service {
    struct lws_context *context;
    struct lws_vhost *client;   /* system certificate authorities */
    pws_callback callback;
    lws_sorted_usec_list_t deadline;
    struct pws_authority *authorities;
    bool destroying;
};

/* A vhost for each certificate authority that clients have named. */
struct pws_authority {
    struct pws_authority *next;
    struct lws_vhost *vhost;
    char file[];
};

struct pws_server {
    pws_service *service;
    struct lws_vhost *vhost;
    void *owner;
    size_t maximum_message;
    int connections, maximum_connections;
    lws_retry_bo_t policy;
    char subprotocol[64];
    struct lws_protocols protocols[3];
};

struct pws_connection {
    struct lws *wsi;
    pws_service *service;
    pws_server *server; /* NULL for a client */
    void *owner;
    uint64_t id;
    uint8_t *message;
    size_t count, capacity, maximum;
    lws_retry_bo_t policy; /* clients; a server's connections use the server's */
    bool opened, closing, closed;
    bool *gone; /* a client whose pws_connect has not returned */
    uint16_t code; /* ours while closing, else the peer's */
    uint16_t reason_count;
    uint8_t reason[REASON_MAX];
};

static uint64_t next_id = 1;

static int on_server(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count);
static int on_plain(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count);
static int on_client(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count);

/* libwebsockets keeps pointers to these for as long as a context lives. */
static const struct lws_protocols client_protocols[] = {
    {"peal-client", on_client, 0, 4096, 0, NULL, 0},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};

static int tell(pws_connection *c, enum pws_event event, uint16_t code, const uint8_t *bytes, size_t count) {
    return c->service->callback(c->owner, c, event, code, bytes, count);
}

static uint64_t take_id(void) {
    return __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);
}

/* MARK: service */

static struct lws_vhost *client_vhost(pws_service *service, const char *name, const char *authority) {
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    info.port = CONTEXT_PORT_NO_LISTEN;
    info.protocols = client_protocols;
    info.vhost_name = name;
    info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_VALIDATE_UTF8;
    info.client_ssl_ca_filepath = authority;
    if (authority) info.options |= LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS;
    return lws_create_vhost(service->context, &info);
}

pws_service *pws_service_create(pws_callback callback) {
    lws_set_log_level(0, NULL);
    pws_service *service = calloc(1, sizeof *service);
    if (!service) return NULL;
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    info.port = CONTEXT_PORT_NO_LISTEN;
    info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    info.gid = (gid_t)-1;
    info.uid = (uid_t)-1;
    info.pt_serv_buf_size = 16 * 1024;
    service->callback = callback;
    service->context = lws_create_context(&info);
    if (!service->context) {
        free(service);
        return NULL;
    }
    service->client = client_vhost(service, "peal-client", NULL);
    return service;
}

void pws_service_destroy(pws_service *service) {
    service->destroying = true;
    lws_sul_cancel(&service->deadline);
    lws_context_destroy(service->context);
    while (service->authorities) {
        struct pws_authority *next = service->authorities->next;
        free(service->authorities);
        service->authorities = next;
    }
    free(service);
}

int pws_run(pws_service *service) { return lws_service(service->context, 0); }

void pws_wake(pws_service *service) { lws_cancel_service(service->context); }

static void deadline_reached(lws_sorted_usec_list_t *list) { (void)list; }

void pws_set_deadline(pws_service *service, int64_t microseconds) {
    if (microseconds < 0)
        lws_sul_cancel(&service->deadline);
    else
        lws_sul_schedule(service->context, 0, &service->deadline, deadline_reached, microseconds + 1);
}

/* MARK: server */

pws_server *pws_listen(pws_service *service, const pws_server_options *options, void *owner) {
    pws_server *server = calloc(1, sizeof *server);
    if (!server) return NULL;
    server->service = service;
    server->owner = owner;
    server->maximum_message = options->maximum_message;
    server->maximum_connections = options->maximum_connections;
    server->policy.secs_since_valid_ping = (uint16_t)options->ping_seconds;
    server->policy.secs_since_valid_hangup = (uint16_t)options->hangup_seconds;
    strncpy(server->subprotocol, options->subprotocol, sizeof server->subprotocol - 1);
    /* The first protocol gets what asks for none: plain HTTP, and a handshake without a subprotocol. */
    server->protocols[0] = (struct lws_protocols){"http", on_plain, 0, 0, 0, server, 0};
    server->protocols[1] =
        (struct lws_protocols){server->subprotocol, on_server, sizeof(pws_connection), 2048, 0, server, 0};

    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    info.port = options->port;
    info.iface = options->host;
    info.protocols = server->protocols;
    info.vhost_name = "peal-server";
    info.options = LWS_SERVER_OPTION_VALIDATE_UTF8 | LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND;
    info.retry_and_idle_policy = &server->policy;
    info.keepalive_timeout = 10;
    info.timeout_secs = 10;
    if (options->certificate) {
        info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        info.ssl_cert_filepath = options->certificate;
        info.ssl_private_key_filepath = options->key;
    }
    server->vhost = lws_create_vhost(service->context, &info);
    if (!server->vhost) {
        free(server);
        return NULL;
    }
    return server;
}

int pws_port(const pws_server *server) { return lws_get_vhost_listen_port(server->vhost); }

void pws_server_close(pws_server *server) {
    lws_vhost_destroy(server->vhost);
    /* Not freed: libwebsockets ends the vhost's connections later, and their callbacks still look at it. A hub makes one. */
}

static pws_server *server_of(struct lws *wsi) {
    const struct lws_protocols *protocol = lws_get_protocol(wsi);
    return protocol ? protocol->user : NULL;
}

static int on_plain(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count) {
    switch (reason) {
    case LWS_CALLBACK_FILTER_NETWORK_CONNECTION: {
        /* Called before a protocol is chosen: the vhost's first one stands in for it. */
        pws_server *server = server_of(wsi);
        if (server && server->connections >= server->maximum_connections) return 1;
        return 0;
    }
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        /* A handshake that names no subprotocol. */
        return 1;
    case LWS_CALLBACK_HTTP:
        lws_return_http_status(wsi, 426, "This port speaks WebSocket only.");
        return -1;
    case LWS_CALLBACK_ESTABLISHED:
        return -1;
    default:
        return lws_callback_http_dummy(wsi, reason, user, in, count);
    }
}

/* MARK: both ends */

static void remember_close(pws_connection *c, const uint8_t *in, size_t count) {
    if (c->closing) return;
    if (count < 2) {
        c->code = CLOSE_NO_STATUS;
        return;
    }
    c->code = (uint16_t)(in[0] << 8 | in[1]);
    c->reason_count = (uint16_t)(count - 2 > REASON_MAX ? REASON_MAX : count - 2);
    memcpy(c->reason, in + 2, c->reason_count);
}

static int refuse(pws_connection *c, uint16_t code, const char *reason) {
    c->closing = true;
    c->code = code;
    c->reason_count = (uint16_t)strlen(reason);
    memcpy(c->reason, reason, c->reason_count);
    lws_close_reason(c->wsi, (enum lws_close_status)code, c->reason, c->reason_count);
    return -1;
}

static int append(pws_connection *c, const void *in, size_t count) {
    if (c->count + count > c->capacity) {
        size_t capacity = c->capacity ? c->capacity : 1024;
        while (capacity < c->count + count) capacity *= 2;
        uint8_t *grown = realloc(c->message, capacity);
        if (!grown) return -1;
        c->message = grown;
        c->capacity = capacity;
    }
    memcpy(c->message + c->count, in, count);
    c->count += count;
    return 0;
}

static int received(pws_connection *c, void *in, size_t count) {
    struct lws *wsi = c->wsi;
    /* Anything that comes shows that the peer lives. */
    lws_validity_confirmed(wsi);
    if (c->closing) return 0;
    if (lws_frame_is_binary(wsi)) return refuse(c, CLOSE_PROTOCOL, "frames are text");
    if (lws_is_first_fragment(wsi)) c->count = 0;
    if (c->count + count + lws_remaining_packet_payload(wsi) > c->maximum)
        return refuse(c, CLOSE_TOO_LARGE, "the message is too large");
    bool whole = lws_is_final_fragment(wsi) && lws_remaining_packet_payload(wsi) == 0;
    if (whole && c->count == 0) {
        tell(c, PWS_MESSAGE, 0, in, count);
        return 0;
    }
    if (append(c, in, count)) return refuse(c, CLOSE_TOO_LARGE, "out of memory");
    if (!whole) return 0;
    tell(c, PWS_MESSAGE, 0, c->message, c->count);
    c->count = 0;
    if (c->capacity > 16 * 1024) { /* an idle connection keeps no large buffer */
        free(c->message);
        c->message = NULL;
        c->capacity = 0;
    }
    return 0;
}

static int writable(pws_connection *c) {
    int more = tell(c, PWS_WRITABLE, 0, NULL, 0);
    if (more) {
        lws_callback_on_writable(c->wsi);
        return 0;
    }
    if (!c->closing) return 0;
    lws_close_reason(c->wsi, (enum lws_close_status)c->code, c->reason, c->reason_count);
    return -1;
}

static void closed(pws_connection *c, const char *why) {
    if (c->closed) return;
    c->closed = true;
    if (why && !c->code) {
        c->reason_count = (uint16_t)strnlen(why, REASON_MAX);
        memcpy(c->reason, why, c->reason_count);
    }
    tell(c, PWS_CLOSED, c->code ? c->code : CLOSE_ABNORMAL, c->reason, c->reason_count);
    free(c->message);
    c->message = NULL;
}

/* The end of a client's connection; later callbacks of its wsi find no user. */
static void client_closed(struct lws *wsi, pws_connection *c, const char *why) {
    if (wsi) lws_set_wsi_user(wsi, NULL);
    if (c->gone) *c->gone = true;
    closed(c, why);
    free(c);
}

static int on_server(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count) {
    pws_connection *c = user;
    switch (reason) {
    case LWS_CALLBACK_ESTABLISHED: {
        pws_server *server = server_of(wsi);
        if (server->connections >= server->maximum_connections) return -1;
        memset(c, 0, sizeof *c);
        c->wsi = wsi;
        c->service = server->service;
        c->server = server;
        c->owner = server->owner;
        c->id = take_id();
        c->maximum = server->maximum_message;
        c->opened = true;
        server->connections++;
        char peer[64] = "";
        lws_get_peer_simple(wsi, peer, sizeof peer);
        tell(c, PWS_OPENED, 0, (const uint8_t *)peer, strlen(peer));
        return 0;
    }
    case LWS_CALLBACK_RECEIVE:
        return c && c->opened ? received(c, in, count) : -1;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return c && c->opened ? writable(c) : -1;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        if (c && c->opened) remember_close(c, in, count);
        return 0;
    case LWS_CALLBACK_CLOSED:
        if (c && c->opened && !c->closed) {
            c->server->connections--;
            closed(c, "the connection was lost");
        }
        return 0;
    default:
        return 0;
    }
}

/* MARK: client */

static int on_client(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count) {
    pws_connection *c = user;
    switch (reason) {
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        if (!c) return -1;
        c->wsi = wsi;
        c->opened = true;
        tell(c, PWS_OPENED, 0, NULL, 0);
        return 0;
    case LWS_CALLBACK_CLIENT_RECEIVE:
        return c ? received(c, in, count) : -1;
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        return c ? writable(c) : -1;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        if (c) remember_close(c, in, count);
        return 0;
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        if (c) {
            char why[REASON_MAX + 1] = "the connection was not made";
            if (in && count) {
                size_t kept = count > REASON_MAX ? REASON_MAX : count;
                memcpy(why, in, kept);
                why[kept] = 0;
            }
            client_closed(wsi, c, why);
        }
        return 0;
    case LWS_CALLBACK_CLIENT_CLOSED:
    case LWS_CALLBACK_WSI_DESTROY:
        if (c) client_closed(wsi, c, "the connection was lost");
        return 0;
    default:
        return 0;
    }
}

static struct lws_vhost *authority_vhost(pws_service *service, const char *file) {
    if (!file) return service->client;
    for (struct pws_authority *a = service->authorities; a; a = a->next)
        if (!strcmp(a->file, file)) return a->vhost;
    struct pws_authority *a = calloc(1, sizeof *a + strlen(file) + 1);
    if (!a) return NULL;
    strcpy(a->file, file);
    a->vhost = client_vhost(service, "peal-client-ca", a->file);
    if (!a->vhost) {
        free(a);
        return NULL;
    }
    a->next = service->authorities;
    service->authorities = a;
    return a->vhost;
}

pws_connection *pws_connect(pws_service *service, const pws_client_options *options, void *owner) {
    struct lws_vhost *vhost = authority_vhost(service, options->authority);
    pws_connection *c = vhost ? calloc(1, sizeof *c) : NULL;
    if (!c) return NULL;
    c->service = service;
    c->owner = owner;
    c->id = take_id();
    c->maximum = options->maximum_message;
    c->policy.secs_since_valid_ping = (uint16_t)options->ping_seconds;
    c->policy.secs_since_valid_hangup = (uint16_t)options->hangup_seconds;
    struct lws_client_connect_info info;
    memset(&info, 0, sizeof info);
    info.context = service->context;
    info.vhost = vhost;
    info.address = options->address;
    info.port = options->port;
    info.path = options->path;
    info.host = options->host;
    info.protocol = options->subprotocol;
    info.local_protocol_name = "peal-client";
    info.userdata = c;
    info.retry_and_idle_policy = &c->policy;
    if (options->tls) {
        info.ssl_connection = LCCSCF_USE_SSL;
        if (!options->verify)
            info.ssl_connection |= LCCSCF_ALLOW_SELFSIGNED | LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK |
                                   LCCSCF_ALLOW_EXPIRED | LCCSCF_ALLOW_INSECURE;
    }
    /* A failure can be told, and `c` freed, before this returns. */
    bool gone = false;
    c->gone = &gone;
    struct lws *wsi = lws_client_connect_via_info(&info);
    if (gone) return NULL;
    c->gone = NULL;
    if (!wsi) {
        client_closed(NULL, c, "the connection was not made");
        return NULL;
    }
    c->wsi = wsi;
    return c;
}

/* MARK: connections */

uint64_t pws_id(const pws_connection *c) { return c->id; }

void pws_want_write(pws_connection *c) { lws_callback_on_writable(c->wsi); }

size_t pws_padding(void) { return LWS_PRE; }

bool pws_write(pws_connection *c, uint8_t *bytes, size_t count) {
    return lws_write(c->wsi, bytes, count, LWS_WRITE_TEXT) >= (int)count;
}

void pws_close(pws_connection *c, uint16_t code, const char *reason) {
    if (c->closing || c->closed) return;
    c->closing = true;
    c->code = code;
    c->reason_count = (uint16_t)strnlen(reason, REASON_MAX);
    memcpy(c->reason, reason, c->reason_count);
    if (!c->wsi) return;
    if (!c->opened) {
        pws_abort(c);
        return;
    }
    lws_callback_on_writable(c->wsi);
    /* A peer that does not read cannot hold the connection. */
    lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, CLOSE_SECONDS);
}

void pws_abort(pws_connection *c) {
    if (c->wsi && !c->closed) lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

void pws_read(pws_connection *c, bool on) {
    if (c->wsi && !c->closed) lws_rx_flow_control(c->wsi, on);
}

/* MARK: process */

void pws_prepare_thread(const char *name) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
#if defined(__linux__)
    pthread_setname_np(pthread_self(), name);
#else
    pthread_setname_np(name);
#endif
}

int64_t pws_raise_file_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return -1;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    return (int64_t)limit.rlim_cur;
}
