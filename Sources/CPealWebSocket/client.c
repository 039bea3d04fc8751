#include <openssl/x509_vfy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* More routes than an app has; each costs a list of authorities when it is TLS. */
enum { ROUTES_MAX = 64 };

/* libwebsockets keeps a pointer to these for as long as a context lives. */
static const struct lws_protocols protocols[] = {
    {.name = "peal-client", .callback = pws_on_callback, .rx_buffer_size = PWS_CLIENT_CHUNK,
     .tx_packet_size = PWS_SEND_MAX},
    {.name = NULL},
};

static bool same(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

/* MARK: routes */

static void route_free(struct pws_route *route) {
    free(route->authority);
    free(route->proxy);
    free(route);
}

static struct lws_vhost *route_vhost(pws_service *service, const struct pws_route *route) {
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .protocols = protocols,
        .vhost_name = "peal-client",
        .http_proxy_address = route->proxy ? route->proxy : "", /* NULL reads the variable http_proxy */
        .alpn = "http/1.1",
    };
    if (!route->ipv6) info.options |= LWS_SERVER_OPTION_DISABLE_IPV6;
    if (route->tls) info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    if (route->authority) {
        info.options |= LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS;
        info.client_ssl_ca_filepath = route->authority;
    }
    pws_lock_process();
    struct lws_vhost *vhost = lws_create_vhost(service->context, &info);
    pws_unlock_process();
    return vhost;
}

static struct pws_route *route_new(pws_service *service, const struct pws_route *wanted) {
    /* libwebsockets goes on without the file, and then trusts nobody; a sentence helps more. */
    struct stat file;
    if (wanted->authority && (stat(wanted->authority, &file) || !S_ISREG(file.st_mode) || access(wanted->authority, R_OK)))
        return NULL;
    struct pws_route *route = malloc(sizeof *route);
    if (!route) return NULL;
    *route = *wanted;
    route->authority = pws_copy(wanted->authority);
    route->proxy = pws_copy(wanted->proxy);
    route->vhost = route_vhost(service, route);
    if (!route->vhost) {
        route_free(route);
        return NULL;
    }
    route->next = service->routes;
    service->routes = route;
    return route;
}

static struct pws_route *route_for(pws_service *service, const pws_client_options *options) {
    struct pws_route wanted = {
        .ipv6 = strchr(options->proxy ? options->proxy : options->address, options->proxy ? '[' : ':') != NULL,
        .tls = options->tls,
        .authority = options->tls ? (char *)options->authority : NULL,
        .proxy = (char *)options->proxy,
    };
    unsigned count = 0;
    for (struct pws_route *route = service->routes; route; route = route->next, count++)
        if (route->ipv6 == wanted.ipv6 && route->tls == wanted.tls && same(route->authority, wanted.authority)
            && same(route->proxy, wanted.proxy))
            return route;
    return count < ROUTES_MAX ? route_new(service, &wanted) : NULL;
}

void pws_routes_free(pws_service *service) {
    while (service->routes) {
        struct pws_route *route = service->routes;
        service->routes = route->next;
        route_free(route);
    }
}

/* MARK: connecting */

static int flags_of(const pws_client_options *options) {
    int flags = options->method ? LCCSCF_HTTP_NO_FOLLOW_REDIRECT : 0;
    if (!options->tls) return flags;
    if (options->verify) return flags | LCCSCF_USE_SSL;
    return flags | LCCSCF_USE_SSL | LCCSCF_ALLOW_SELFSIGNED | LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK | LCCSCF_ALLOW_EXPIRED
           | LCCSCF_ALLOW_INSECURE;
}

static bool begin(pws_connection *c, struct pws_route *route, const pws_client_options *options) {
    struct lws_client_connect_info info = {
        .context = c->service->context,
        .vhost = route->vhost,
        .address = options->address,
        .port = options->port,
        .ssl_connection = flags_of(options),
        .path = options->path,
        .host = options->host,
        .protocol = options->subprotocol,
        .method = options->method,
        .local_protocol_name = protocols[0].name,
        .alpn = "http/1.1",
        .opaque_user_data = c,
        .pwsi = &c->wsi,
        .ietf_version_or_minus_one = -1,
    };
    /* Until it returns no event may come: the caller does not know the connection yet. */
    c->creating = true;
    c->wsi = lws_client_connect_via_info(&info);
    c->creating = false;
    return c->wsi && c->phase != PWS_DEAD;
}

pws_connection *pws_connect(pws_service *service, const pws_client_options *options, void *owner) {
    pws_connection *c = pws_connection_new(service, NULL, owner);
    if (!c) return NULL;
    c->phase = PWS_CONNECTING;
    c->maximum_message = options->maximum_message;
    c->ping_seconds = (uint32_t)options->ping_seconds;
    c->hangup_seconds = (uint32_t)options->hangup_seconds;
    c->subprotocol = pws_copy(options->subprotocol);
    struct pws_route *route = route_for(service, options);
    if (!route) {
        pws_connection_kill(c, PWS_CODE_LOST, "the certificate authorities cannot be read");
    } else if (options->method && !pws_http_prepare(c, options)) {
        pws_connection_kill(c, PWS_CODE_LOST, "out of memory");
    } else if (!begin(c, route, options)) {
        pws_connection_kill(c, PWS_CODE_LOST, "the connection was not made");
    } else if (options->connect_seconds) {
        c->deadline = lws_now_usecs() + (lws_usec_t)options->connect_seconds * LWS_US_PER_SEC;
        pws_watch(c);
    }
    return c;
}

/* MARK: what comes of it */

static const char not_taken[] = "the server did not take the subprotocol";

void pws_on_distrust(struct lws *wsi, void *store) {
    pws_connection *c = lws_get_opaque_user_data(wsi);
    char why[PWS_REASON_MAX + 1];
    if (!c) return;
    lws_snprintf(why, sizeof why, "the certificate is not trusted: %s",
                 X509_verify_cert_error_string(X509_STORE_CTX_get_error(store)));
    pws_connection_why(c, PWS_CODE_LOST, why, strlen(why));
}

int pws_on_client_answer(pws_connection *c) {
    char chosen[64];
    if (c->phase == PWS_DEAD) return -1;
    if (c->headers) {
        pws_http_head(c);
        return 0;
    }
    if (lws_hdr_copy(c->wsi, chosen, sizeof chosen, WSI_TOKEN_PROTOCOL) > 0 && same(chosen, c->subprotocol)) return 0;
    pws_connection_why(c, PWS_CODE_LOST, not_taken, sizeof not_taken - 1);
    return -1;
}

int pws_on_client_opened(pws_connection *c) {
    if (c->phase == PWS_DEAD) return -1;
    free(c->subprotocol);
    c->subprotocol = NULL;
    c->phase = PWS_OPEN;
    c->deadline = 0;
    pws_heard(c);
    pws_watch(c);
    pws_tell(c, PWS_OPENED, NULL, 0);
    return 0;
}

void pws_on_client_failed(pws_connection *c, const char *text, size_t count) {
    char why[PWS_REASON_MAX + 1] = "the connection was not made";
    unsigned status = c->wsi ? lws_http_client_http_response(c->wsi) : 0;
    if (text) count = strnlen(text, count);
    while (count && (text[count - 1] == '\n' || text[count - 1] == ' ')) count--;
    if (status > 101 && status < 600)
        lws_snprintf(why, sizeof why, "the server answered with HTTP status %u", status);
    else if (text && count >= 12 && !memcmp(text, "HS: PROTOCOL", 12)) /* another than the one that we asked for */
        memcpy(why, not_taken, sizeof not_taken);
    else if (text && count)
        lws_snprintf(why, sizeof why, "%.*s", (int)(count < PWS_REASON_MAX ? count : PWS_REASON_MAX), text);
    pws_connection_why(c, PWS_CODE_LOST, why, strlen(why));
    if (c->creating)
        c->phase = PWS_DEAD;
    else
        pws_connection_over(c);
}
