/* What the files of this target share. Nothing of it is seen outside. */
#ifndef CPEALWEBSOCKET_INTERNAL_H
#define CPEALWEBSOCKET_INTERNAL_H

#include <libwebsockets.h>

#include "cpealwebsocket.h"

enum {
    /* Our close codes for what this layer notices itself. */
    PWS_CODE_TOO_LARGE = 4104,
    PWS_CODE_PROTOCOL = 4203,
    PWS_CODE_LATER = 4000,
    PWS_CODE_NO_STATUS = 1005,
    PWS_CODE_LOST = 1006,
    /* Bytes of a reason (RFC 6455 section 5.5: a control frame has 125, the code takes two). */
    PWS_REASON_MAX = 123,
    /* Seconds that a close may take: flushing, our close frame, the peer's answer. */
    PWS_CLOSE_SECONDS = 5,
    /* Seconds of a TLS or HTTP handshake with our server. */
    PWS_HANDSHAKE_SECONDS = 10,
    /* Receive chunks. Each connection holds one for its life, so a server's is small. */
    PWS_SERVER_CHUNK = 1024,
    PWS_CLIENT_CHUNK = 4096,
    /* What one send takes at most; without it libwebsockets sends by receive chunks, and waits for a turn of the loop after each.
     * Costs no memory: the kernel takes what it has room for. */
    PWS_SEND_MAX = 512 * 1024,
    /* Messages that one connection may write before the next one's turn. */
    PWS_MESSAGES_A_TURN = 4,
    /* Each turn of the loop looks at every connection, at about 0.1 µs each. Where there are more than so many, turns keep a
     * distance of 1 µs for each, at most 2 ms, so that messages share a turn and the looking stays a small part. */
    PWS_UNSPACED_CONNECTIONS = 100,
    PWS_SPACING_US_MAX = 2000,
};

enum pws_phase {
    /* Until the handshake is done. The owner of a server's does not know of it yet. */
    PWS_CONNECTING,
    PWS_OPEN,
    /* pws_close was called: what waits goes out, then the close frame. */
    PWS_FLUSHING,
    /* The peer broke the rules: the close frame goes out, whatever waits. */
    PWS_REFUSING,
    /* The close frame is on its way; the socket ends when the peer has answered. */
    PWS_CLOSING,
    /* To be told and dropped at the next sweep. */
    PWS_DEAD,
};

struct pws_connection {
    pws_connection *next, **link;
    pws_service *service;
    pws_server *server; /* NULL for a client */
    pws_connection *younger, **elder; /* among the handshakes of a server; elder is NULL for what is not among them */
    struct lws *wsi;
    void *owner;
    uint64_t id;
    size_t maximum_message, count, capacity;
    uint8_t *message;      /* fragments so far */
    lws_usec_t heard;      /* when the peer last gave a sign of life */
    lws_usec_t deadline;   /* of connecting or closing; 0: none */
    char *reason;
    char *subprotocol;     /* a client's, until the handshake is done */
    char *headers;         /* of a request of plain HTTP, until they are sent; NULL for a WebSocket */
    uint8_t *body;         /* likewise, after room for what libwebsockets puts before it */
    size_t body_count, body_sent;
    char **reading;        /* where libwebsockets stands in what it reads of an answer; NULL while it reads nothing */
    char *read_from;
    int retry_after;       /* of an HTTP answer; negative: none */
    int64_t date, certificate_end; /* likewise; 0: none */
    char certificate_name[128];
    int silence_seconds;   /* of an HTTP answer that is told in parts; 0: it comes whole */
    uint32_t ping_seconds, hangup_seconds;
    uint16_t code;
    uint8_t reason_count;
    uint8_t phase;
    bool creating, wants_write, ping_due, ping_sent, paused;
};

struct pws_server {
    pws_server *next;
    pws_service *service;
    void *owner; /* NULL once it is closed */
    struct lws_vhost *vhost;
    pws_connection *oldest, **youngest; /* handshakes, by their age */
    int handshakes, maximum_handshakes, handshake_seconds;
    void *tls; /* the vhost's SSL_CTX; NULL without TLS */
    size_t maximum_message;
    int ping_seconds, hangup_seconds, connections, maximum_connections;
    char *host, *subprotocol;
    struct lws_protocols protocols[2];
};

/* A vhost for each way in which clients connect. */
struct pws_route {
    struct pws_route *next;
    struct lws_vhost *vhost;
    bool ipv6, tls;
    char *authority, *proxy;
};

struct pws_service {
    struct lws_context *context;
    pws_callback callback;
    pws_connection *connections;
    pws_server *servers;
    struct pws_route *routes;
    lws_sorted_usec_list_t deadline, sweep;
    lws_usec_t sweep_at; /* when the sweep runs next */
    lws_usec_t turn;     /* when the last wait was over */
    int count;           /* connections */
    bool destroying;
};

/* The callback of every libwebsockets protocol here. */
int pws_on_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count);

/* connection.c */
pws_connection *pws_connection_new(pws_service *service, pws_server *server, void *owner);
/* Tells the owner, once, frees the connection and leaves the socket to libwebsockets. */
void pws_connection_over(pws_connection *connection);
/* The same, and has the socket dropped. */
void pws_connection_drop(pws_connection *connection);
/* Keeps the first code and reason that are given. */
void pws_connection_why(pws_connection *connection, uint16_t code, const void *reason, size_t count);
/* Has the next sweep tell and drop it. */
void pws_connection_kill(pws_connection *connection, uint16_t code, const char *reason);
int pws_tell(pws_connection *connection, enum pws_event event, const void *bytes, size_t count);
void pws_heard(pws_connection *connection);
/* Puts bytes behind those of the message so far; false where memory ran out. */
bool pws_assemble(pws_connection *connection, const void *bytes, size_t count);
/* Takes a fragment. */
int pws_received(pws_connection *connection, void *bytes, size_t count);
int pws_writable(pws_connection *connection);

/* sweep.c */
void pws_on_sweep(lws_sorted_usec_list_t *entry);
/* Has the sweep run no later than then. */
void pws_sweep_by(pws_service *service, lws_usec_t when);
/* Has it run in time for this connection's ping, hangup and deadline. */
void pws_watch(pws_connection *connection);

/* tls.c */
void pws_on_server_tls(struct lws_vhost *vhost, void *context);

/* server.c */
void pws_servers_free(pws_service *service);
int pws_on_upgrade(struct lws *wsi, const char *upgrade);
int pws_on_plain_request(struct lws *wsi);
/* Someone has connected and is to say what it wants. */
int pws_on_server_accepted(struct lws *wsi);
int pws_on_server_opened(struct lws *wsi);
/* Takes a connection out of its server's handshakes, where it is among them; otherwise false. */
bool pws_handshake_over(pws_connection *connection);

/* http.c */
/* Keeps what the server's certificate says; nothing without TLS. */
void pws_keep_certificate(pws_connection *c);
bool pws_http_prepare(pws_connection *connection, const pws_client_options *options);
/* The head of an answer is there. */
void pws_http_head(pws_connection *connection);
int pws_on_http(pws_connection *connection, enum lws_callback_reasons reason, void *in, size_t count);

/* client.c */
void pws_routes_free(pws_service *service);
/* OpenSSL does not trust the server; `store` is its X509_STORE_CTX. */
void pws_on_distrust(struct lws *wsi, void *store);
int pws_on_client_answer(pws_connection *connection);
int pws_on_client_opened(pws_connection *connection);
void pws_on_client_failed(pws_connection *connection, const char *text, size_t count);

/* libwebsockets and OpenSSL keep some state for the whole process; what touches it is done under this lock. */
void pws_lock_process(void);
void pws_unlock_process(void);

bool pws_is_utf8(const unsigned char *bytes, size_t count);
/* A copy, or NULL of NULL. */
char *pws_copy(const char *text);

#endif
