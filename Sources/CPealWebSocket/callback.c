#include "internal.h"

static void peer_closed(pws_connection *c, const uint8_t *bytes, size_t count) {
    pws_heard(c);
    if (c->phase == PWS_DEAD) return;
    if (count < 2)
        pws_connection_why(c, PWS_CODE_NO_STATUS, NULL, 0);
    else
        pws_connection_why(c, (uint16_t)(bytes[0] << 8 | bytes[1]), bytes + 2, count - 2);
    c->phase = PWS_CLOSING;
    c->deadline = lws_now_usecs() + PWS_CLOSE_SECONDS * LWS_US_PER_SEC;
    pws_watch(c);
}

/* What happens to a connection that the owner knows, or will know. */
static int on_connection(pws_connection *c, enum lws_callback_reasons reason, void *in, size_t count) {
    switch (reason) {
    case LWS_CALLBACK_RECEIVE:
    case LWS_CALLBACK_CLIENT_RECEIVE:
        return pws_received(c, in, count);
    case LWS_CALLBACK_RECEIVE_PONG:
    case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
        pws_heard(c);
        return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        return pws_writable(c);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        peer_closed(c, in, count);
        return 0;
    case LWS_CALLBACK_CLIENT_FILTER_PRE_ESTABLISH:
        return pws_on_client_answer(c);
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        return pws_on_client_opened(c);
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        pws_on_client_failed(c, in, count);
        return 0;
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
    case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE:
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP:
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ:
    case LWS_CALLBACK_COMPLETED_CLIENT_HTTP:
        return pws_on_http(c, reason, in, count);
    default: /* closed, or destroyed without having been open */
        if (c->creating)
            c->phase = PWS_DEAD;
        else
            pws_connection_over(c);
        return 0;
    }
}

/* A socket that was dropped before libwebsockets has let go of it takes and gives nothing. */
static int on_leftover(enum lws_callback_reasons reason) {
    switch (reason) {
    case LWS_CALLBACK_SERVER_WRITEABLE:
    case LWS_CALLBACK_CLIENT_WRITEABLE:
    case LWS_CALLBACK_CLIENT_FILTER_PRE_ESTABLISH:
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
    case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE:
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP:
    case LWS_CALLBACK_COMPLETED_CLIENT_HTTP:
        return -1;
    default:
        return 0;
    }
}

int pws_on_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count) {
    switch (reason) {
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return pws_on_upgrade(wsi, in);
    case LWS_CALLBACK_HTTP:
        return pws_on_plain_request(wsi);
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
        return pws_on_server_accepted(wsi);
    case LWS_CALLBACK_ESTABLISHED:
        return pws_on_server_opened(wsi);
    case LWS_CALLBACK_RECEIVE:
    case LWS_CALLBACK_CLIENT_RECEIVE:
    case LWS_CALLBACK_RECEIVE_PONG:
    case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
    case LWS_CALLBACK_SERVER_WRITEABLE:
    case LWS_CALLBACK_CLIENT_WRITEABLE:
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
    case LWS_CALLBACK_CLIENT_FILTER_PRE_ESTABLISH:
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
    case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE:
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP:
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ:
    case LWS_CALLBACK_COMPLETED_CLIENT_HTTP:
    case LWS_CALLBACK_CLOSED_CLIENT_HTTP:
    case LWS_CALLBACK_CLOSED:
    case LWS_CALLBACK_CLIENT_CLOSED:
    case LWS_CALLBACK_WSI_DESTROY: {
        pws_connection *c = lws_get_opaque_user_data(wsi);
        return c ? on_connection(c, reason, in, count) : on_leftover(reason);
    }
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
        pws_on_server_tls(in, user);
        return 0;
    case LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION:
        if (!count) pws_on_distrust(wsi, user);
        return 0;
    case LWS_CALLBACK_RAW_ADOPT: /* it takes the method CONNECT for a wish to leave HTTP */
    case LWS_CALLBACK_RAW_RX:
    case LWS_CALLBACK_RAW_WRITEABLE:
        return -1;
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
    case LWS_CALLBACK_HTTP_FILE_COMPLETION:
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return lws_callback_http_dummy(wsi, reason, user, in, count);
    default:
        return 0;
    }
}
