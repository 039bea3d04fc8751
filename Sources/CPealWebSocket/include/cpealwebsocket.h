/* WebSocket client and server, and a client of plain HTTP, over libwebsockets, as few functions as Swift needs. The only part of Peal that includes
 * libwebsockets.h.
 *
 * A service is one context, run by one thread. Every function must be called on that thread, but for pws_wake, which may be
 * called from anywhere, and pws_service_create and pws_service_destroy, which are called while no thread runs the service.
 * Events come through one callback, on that thread, while pws_run, pws_server_close or pws_service_destroy runs. */
#ifndef CPEALWEBSOCKET_H
#define CPEALWEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pws_service pws_service;
typedef struct pws_server pws_server;
typedef struct pws_connection pws_connection;

enum pws_event {
    /* The handshake is done. bytes: the peer's address (server). */
    PWS_OPENED = 1,
    /* One whole message. bytes: valid UTF-8, or an HTTP answer's body of any bytes, during the call only. */
    PWS_MESSAGE,
    /* The socket can be written: call pws_write once at most; answer 1 to be asked again, 0 otherwise. */
    PWS_WRITABLE,
    /* Over, once for each connection that was opened or begun. code and bytes (not checked to be UTF-8) say why. The
     * connection is freed afterwards. */
    PWS_CLOSED,
};

typedef int (*pws_callback)(
    void *owner, pws_connection *connection, enum pws_event event, uint16_t code, const uint8_t *bytes, size_t count);

typedef struct {
    const char *host; /* an IP address; NULL: every interface */
    int port;         /* 0: any */
    const char *subprotocol;
    size_t maximum_message;
    int ping_seconds, hangup_seconds; /* of silence; 0: never */
    int handshake_seconds; /* from the connection to the end of the handshake */
    int maximum_connections, maximum_handshakes; /* open, and not yet open: then the oldest goes */
    const char *certificate, *key; /* NULL: no TLS */
} pws_server_options;

typedef struct {
    const char *address; /* an IP address: a name would block the thread. With a proxy, the name that the proxy looks up */
    const char *host;    /* the name in the Host header, and in the certificate */
    int port;
    const char *path;
    const char *subprotocol;
    size_t maximum_message;
    int ping_seconds, hangup_seconds; /* of silence; 0: never */
    int connect_seconds;              /* for TCP, TLS and handshake; 0: only the operating system's limit */
    bool tls, verify;
    const char *authority; /* a CA file; NULL: the system's */
    const char *proxy;     /* address:port of an HTTP proxy, the address an IP address; NULL: none */
    /* For a request of plain HTTP; NULL: WebSocket. Its answer comes whole, as PWS_MESSAGE with the status as code, before
     * PWS_CLOSED with the same code; connect_seconds is for all of it. */
    const char *method;
    bool streams; /* an answer of 200 comes in parts, as PWS_MESSAGE each; connect_seconds is for each silence then */
    const char *headers; /* lines that end in \r\n; Content-Length among them where there is a body */
    const uint8_t *body;
    size_t body_count;
} pws_client_options;

/* NULL where memory or descriptors ran out. Ignores SIGPIPE for the process. */
pws_service *pws_service_create(pws_callback callback);
/* Ends every connection, with PWS_CLOSED for each, and frees everything. */
void pws_service_destroy(pws_service *service);
/* Handles events, and waits for some first unless told not to; returns after a while, at the deadline, and after pws_wake. */
int pws_run(pws_service *service, bool wait);
void pws_wake(pws_service *service);
/* Makes pws_run return in so many microseconds at most; a negative number takes that back. */
void pws_set_deadline(pws_service *service, int64_t microseconds);

/* NULL where the port is taken or a TLS file cannot be read. `owner` comes with every event of its connections. */
pws_server *pws_listen(pws_service *service, const pws_server_options *options, void *owner);
int pws_port(const pws_server *server);
/* Gives handshakes from now on another certificate chain and key (PEM); connections that are open keep theirs. NULL, or why the
 * pair cannot be used: then nothing has changed. */
const char *pws_server_renew(
    pws_server *server, const char *certificate, size_t certificate_count, const char *key, size_t key_count);
/* Refuses handshakes from now on, and drops every connection, with PWS_CLOSED for each before it returns. The owner gets no
 * event afterwards. The port is free once the service is destroyed. Not within an event. */
void pws_server_close(pws_server *server);

/* NULL where memory ran out. PWS_OPENED or PWS_CLOSED (1006 and a sentence) follows, not before this has returned. */
pws_connection *pws_connect(pws_service *service, const pws_client_options *options, void *owner);

/* A number of this process that no other connection ever has. */
uint64_t pws_id(const pws_connection *connection);
/* Of an HTTP answer, during its PWS_MESSAGE: the seconds of its Retry-After; negative where it says none. */
int pws_retry_after(const pws_connection *connection);
/* Likewise its Date, in seconds since 1970; 0 where it says none. */
int64_t pws_date(const pws_connection *connection);
/* Likewise until when the server's certificate is good, in seconds since 1970; 0 without TLS. */
int64_t pws_certificate_end(const pws_connection *connection);
/* Likewise the name in the certificate, "" for none. */
const char *pws_certificate_name(const pws_connection *connection);
/* The version of libwebsockets. */
const char *pws_library_version(void);
/* Asks for PWS_WRITABLE. */
void pws_want_write(pws_connection *connection);
/* How many bytes must lie before what pws_write gets; they are overwritten. */
size_t pws_padding(void);
/* Sends one text message during PWS_WRITABLE; false where the connection is lost: PWS_CLOSED follows. */
bool pws_write(pws_connection *connection, uint8_t *bytes, size_t count);
/* Closes with a code and a reason of up to 123 bytes once PWS_WRITABLE has answered 0; drops the connection after five
 * seconds in any case. The first code that is given counts. */
void pws_close(pws_connection *connection, uint16_t code, const char *reason);
/* Drops the connection; PWS_CLOSED follows, not before this has returned. */
void pws_abort(pws_connection *connection);
/* Drops the connection without an event; the pointer is dead afterwards. Not within an event of this connection. */
void pws_release(pws_connection *connection);
/* Stops or resumes reading. A peer that is not read is not taken for a silent one. */
void pws_read(pws_connection *connection, bool on);

/* Names the calling thread, and keeps SIGPIPE away from it. */
void pws_prepare_thread(const char *name);
/* Raises the limit of open files to what the system allows; returns it. */
int64_t pws_raise_file_limit(void);

#endif
