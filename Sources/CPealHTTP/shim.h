#ifndef CPEALHTTP_SHIM_H
#define CPEALHTTP_SHIM_H
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

/* What Swift cannot call: MHD_start_daemon, MHD_get_connection_info and MHD_get_daemon_info are variadic, and the
   options carry function pointers in integers. Nothing else belongs here. */

struct peal_http_options {
    const struct sockaddr *address; /* copied by bind; needed during the call only */
    unsigned int connection_limit;
    unsigned int connection_limit_per_address; /* 0 = none */
    unsigned int idle_seconds;                 /* 0 = none */
    size_t connection_memory;
    int listening;               /* a bound socket that listens, in place of the address; -1: none, -2: do not listen */
    const char *certificate_pem; /* both NULL: no TLS; both must live until the daemon is stopped */
    const char *key_pem;
    void *context; /* given to every callback */
    void *(*target)(void *context, const char *target, struct MHD_Connection *connection);
    MHD_AccessHandlerCallback access;
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback connection;
};

/* The library would decode "%2F" in place before anyone sees it: leave the text as it came. */
static inline size_t peal_http_unescape_nothing(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

/* One daemon with its own polling thread. NULL when it could not start (errno tells, if the system refused). */
static inline struct MHD_Daemon *peal_http_start(const struct peal_http_options *o) {
    struct MHD_OptionItem items[16];
    int n = 0;
#define PEAL_HTTP_ITEM(o_, v_, p_) (items[n++] = (struct MHD_OptionItem){(o_), (intptr_t)(v_), (void *)(p_)})
    if (o->listening >= 0)
        PEAL_HTTP_ITEM(MHD_OPTION_LISTEN_SOCKET, o->listening, NULL);
    else if (o->listening == -1)
        PEAL_HTTP_ITEM(MHD_OPTION_SOCK_ADDR, 0, o->address);
    PEAL_HTTP_ITEM(MHD_OPTION_CONNECTION_LIMIT, o->connection_limit, NULL);
    PEAL_HTTP_ITEM(MHD_OPTION_PER_IP_CONNECTION_LIMIT, o->connection_limit_per_address, NULL);
    PEAL_HTTP_ITEM(MHD_OPTION_CONNECTION_TIMEOUT, o->idle_seconds, NULL);
    PEAL_HTTP_ITEM(MHD_OPTION_CONNECTION_MEMORY_LIMIT, o->connection_memory, NULL);
    PEAL_HTTP_ITEM(MHD_OPTION_URI_LOG_CALLBACK, o->target, o->context);
    PEAL_HTTP_ITEM(MHD_OPTION_UNESCAPE_CALLBACK, &peal_http_unescape_nothing, NULL);
    PEAL_HTTP_ITEM(MHD_OPTION_NOTIFY_COMPLETED, o->completed, o->context);
    PEAL_HTTP_ITEM(MHD_OPTION_NOTIFY_CONNECTION, o->connection, o->context);
    PEAL_HTTP_ITEM(MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL);
    unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    if (o->listening == -2) flags |= MHD_USE_NO_LISTEN_SOCKET;
    if (o->listening == -1 && o->address->sa_family == AF_INET6) flags |= MHD_USE_DUAL_STACK;
    if (o->certificate_pem != NULL && o->key_pem != NULL) {
        flags |= MHD_USE_TLS;
        PEAL_HTTP_ITEM(MHD_OPTION_HTTPS_MEM_CERT, 0, o->certificate_pem);
        PEAL_HTTP_ITEM(MHD_OPTION_HTTPS_MEM_KEY, 0, o->key_pem);
        PEAL_HTTP_ITEM(MHD_OPTION_HTTPS_PRIORITIES, 0, "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2");
    }
    PEAL_HTTP_ITEM(MHD_OPTION_END, 0, NULL);
#undef PEAL_HTTP_ITEM
    return MHD_start_daemon(
        flags, 0, NULL, NULL, o->access, o->context, MHD_OPTION_ARRAY, items, MHD_OPTION_END);
}

/* The port the daemon listens on, 0 when unknown. */
static inline uint16_t peal_http_bound_port(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info == NULL ? 0 : info->port;
}

/* The socket the daemon listens on, -1 where it does not; it is the daemon's. */
static inline int peal_http_listening(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_LISTEN_FD);
    return info == NULL ? -1 : info->listen_fd;
}

/* Open connections at this moment. */
static inline unsigned int peal_http_connections(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info == NULL ? 0 : info->num_connections;
}

/* The connection's socket, -1 when unknown; it is the library's. */
static inline int peal_http_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

/* The peer's numeric address into text (INET6_ADDRSTRLEN bytes), its port as the result; text is empty when unknown.
   An IPv4 peer of a dual-stack socket is written as IPv4. */
static inline uint16_t peal_http_peer(struct MHD_Connection *connection, char *text, size_t capacity) {
    text[0] = 0;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (info == NULL || info->client_addr == NULL) return 0;
    if (info->client_addr->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, info->client_addr, sizeof v4);
        inet_ntop(AF_INET, &v4.sin_addr, text, (socklen_t)capacity);
        return ntohs(v4.sin_port);
    }
    if (info->client_addr->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, info->client_addr, sizeof v6);
        if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
            inet_ntop(AF_INET, v6.sin6_addr.s6_addr + 12, text, (socklen_t)capacity);
        else
            inet_ntop(AF_INET6, &v6.sin6_addr, text, (socklen_t)capacity);
        return ntohs(v6.sin6_port);
    }
    return 0;
}
#endif
