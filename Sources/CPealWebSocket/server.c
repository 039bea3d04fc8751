#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* MARK: handshakes */

/* Is our subprotocol in the list that a client offers? */
static bool offers(const char *list, const char *name) {
    size_t count = strlen(name);
    while (*list) {
        list += strspn(list, " \t,");
        size_t length = strcspn(list, " \t,");
        if (length == count && !memcmp(list, name, count)) return true;
        list += length;
    }
    return false;
}

/* Answers with a status and a sentence and hangs up; libwebsockets' own function speaks HTTP 1.0 here. */
static int refuse(struct lws *wsi, const char *status, const char *text) {
    const char *more = *status == '5' ? "Retry-After: 1\r\n" : "";
    unsigned char buffer[LWS_PRE + 512];
    int count = lws_snprintf((char *)buffer + LWS_PRE, sizeof buffer - LWS_PRE,
                             "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\nConnection: close\r\n"
                             "Sec-WebSocket-Version: 13\r\n%s\r\n%s\n",
                             status, strlen(text) + 1, more, text);
    return lws_write(wsi, buffer + LWS_PRE, (size_t)count, LWS_WRITE_HTTP) == count ? 1 : -1;
}

int pws_on_upgrade(struct lws *wsi, const char *upgrade) {
    pws_server *server = lws_get_vhost_user(lws_get_vhost(wsi));
    char value[256];
    if (!server->owner || !upgrade || strcasecmp(upgrade, "websocket")) return -1;
    if (server->connections >= server->maximum_connections) return refuse(wsi, "503 Service Unavailable", "Too many connections.");
    if (!lws_hdr_total_length(wsi, WSI_TOKEN_KEY)) return refuse(wsi, "400 Bad Request", "No Sec-WebSocket-Key.");
    if (lws_hdr_copy(wsi, value, sizeof value, WSI_TOKEN_VERSION) <= 0 || strcmp(value, "13"))
        return refuse(wsi, "426 Upgrade Required", "Only Sec-WebSocket-Version 13.");
    if (lws_hdr_copy(wsi, value, sizeof value, WSI_TOKEN_PROTOCOL) <= 0 || !offers(value, server->subprotocol))
        return refuse(wsi, "400 Bad Request", "The subprotocol is not offered.");
    return 0;
}

int pws_on_plain_request(struct lws *wsi) {
    refuse(wsi, "426 Upgrade Required", "This port speaks WebSocket only.");
    return -1;
}

/* libwebsockets closes a client that is slow, by times of its own for each step; this is one for all of them, and one for how many
 * there may be: who is really about to connect is done within a moment, so the oldest goes. */
int pws_on_server_accepted(struct lws *wsi) {
    pws_server *server = lws_get_vhost_user(lws_get_vhost(wsi));
    if (!server || !server->owner) return -1;
    pws_connection *c = pws_connection_new(server->service, server, NULL);
    if (!c) return -1;
    c->wsi = wsi;
    c->phase = PWS_CONNECTING;
    c->deadline = c->heard + (lws_usec_t)server->handshake_seconds * LWS_US_PER_SEC;
    lws_set_opaque_user_data(wsi, c);
    c->elder = server->youngest;
    *c->elder = c;
    server->youngest = &c->younger;
    pws_watch(c);
    if (++server->handshakes > server->maximum_handshakes) pws_connection_drop(server->oldest);
    return 0;
}

bool pws_handshake_over(pws_connection *c) {
    if (!c->elder) return false;
    *c->elder = c->younger;
    if (c->younger)
        c->younger->elder = c->elder;
    else
        c->server->youngest = c->elder;
    c->elder = NULL;
    c->server->handshakes--;
    return true;
}

int pws_on_server_opened(struct lws *wsi) {
    pws_server *server = lws_get_vhost_user(lws_get_vhost(wsi));
    pws_connection *c = lws_get_opaque_user_data(wsi);
    /* It may have been dropped while the last of its handshake came. */
    if (!server->owner || !c || !pws_handshake_over(c)) return -1;
    server->connections++;
    c->owner = server->owner;
    c->heard = lws_now_usecs();
    c->deadline = 0;
    c->phase = PWS_OPEN;
    c->maximum_message = server->maximum_message;
    c->ping_seconds = (uint32_t)server->ping_seconds;
    c->hangup_seconds = (uint32_t)server->hangup_seconds;
    pws_watch(c);
    char address[64] = "", *peer = address;
    lws_get_peer_simple(wsi, address, sizeof address);
    if (!strncmp(peer, "::ffff:", 7) && strchr(peer, '.')) peer += 7; /* IPv4 through a socket of both */
    pws_tell(c, PWS_OPENED, peer, strlen(peer));
    return 0;
}

/* MARK: listening */

static void server_free(pws_server *server) {
    free(server->host);
    free(server->subprotocol);
    free(server);
}

static struct lws_vhost *listen_on(pws_server *server, const pws_server_options *options, bool ipv6) {
    struct lws_context_creation_info info = {
        .port = options->port,
        .iface = server->host,
        .protocols = server->protocols,
        .user = server,
        .vhost_name = "peal-server",
        .alpn = "http/1.1",
        .http_proxy_address = "", /* or it reads the variable http_proxy */
        .timeout_secs = PWS_HANDSHAKE_SECONDS,
        .timeout_secs_ah_idle = (unsigned int)options->handshake_seconds + 1, /* ours comes first */
        .options = LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND,
    };
    if (!ipv6) info.options |= LWS_SERVER_OPTION_DISABLE_IPV6;
    if (options->certificate) {
        info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        info.ssl_cert_filepath = options->certificate;
        info.ssl_private_key_filepath = options->key;
    }
    pws_lock_process();
    struct lws_vhost *vhost = lws_create_vhost(server->service->context, &info);
    pws_unlock_process();
    return vhost;
}

pws_server *pws_listen(pws_service *service, const pws_server_options *options, void *owner) {
    pws_server *server = calloc(1, sizeof *server);
    if (!server) return NULL;
    server->service = service;
    server->owner = owner;
    server->maximum_message = options->maximum_message;
    server->ping_seconds = options->ping_seconds;
    server->hangup_seconds = options->hangup_seconds;
    server->maximum_connections = options->maximum_connections;
    server->handshake_seconds = options->handshake_seconds;
    server->maximum_handshakes = options->maximum_handshakes;
    server->youngest = &server->oldest;
    server->host = pws_copy(options->host);
    server->subprotocol = pws_copy(options->subprotocol);
    server->protocols[0] = (struct lws_protocols){
        .name = server->subprotocol,
        .callback = pws_on_callback,
        .rx_buffer_size = PWS_SERVER_CHUNK,
        .tx_packet_size = PWS_SEND_MAX,
    };
    bool ipv6 = !options->host || strchr(options->host, ':');
    server->vhost = listen_on(server, options, ipv6);
    /* Every interface of a machine without IPv6. */
    if (!server->vhost && !options->host) server->vhost = listen_on(server, options, false);
    if (!server->vhost) {
        server_free(server);
        return NULL;
    }
    server->next = service->servers;
    service->servers = server;
    return server;
}

int pws_port(const pws_server *server) { return lws_get_vhost_listen_port(server->vhost); }

/* The vhost, with its listening socket, and the structure stay until the service ends: lws_vhost_destroy of libwebsockets 4.1
 * never closes a listening socket. */
void pws_server_close(pws_server *server) {
    static const char why[] = "the server was stopped";
    pws_service *service = server->service;
    server->maximum_connections = 0;
    /* An owner may drop others in its event, so the walk begins anew each time. */
    for (pws_connection *c = service->connections; c;) {
        if (c->server != server) {
            c = c->next;
            continue;
        }
        pws_connection_why(c, PWS_CODE_LOST, why, sizeof why - 1);
        pws_connection_drop(c);
        c = service->connections;
    }
    server->owner = NULL;
}

void pws_servers_free(pws_service *service) {
    while (service->servers) {
        pws_server *server = service->servers;
        service->servers = server->next;
        server_free(server);
    }
}
