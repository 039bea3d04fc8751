#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <time.h>

#include "internal.h"

/* What libwebsockets has made for a server that listens: its certificate is exchanged here, because libwebsockets' own function
 * takes the new certificate before it looks whether the key belongs to it. */
void pws_on_server_tls(struct lws_vhost *vhost, void *context) {
    pws_server *server = vhost ? lws_get_vhost_user(vhost) : NULL;
    if (server) server->tls = context;
}

/* libwebsockets tells the end of a certificate a day too early, so OpenSSL is asked. */
void pws_keep_certificate(pws_connection *c) {
    SSL *ssl = lws_is_ssl(c->wsi) ? lws_get_ssl(c->wsi) : NULL;
    X509 *certificate = ssl ? SSL_get_peer_certificate(ssl) : NULL;
    struct tm end;
    if (!certificate) return;
    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1) c->certificate_end = timegm(&end);
    if (X509_NAME_get_text_by_NID(
            X509_get_subject_name(certificate), NID_commonName, c->certificate_name, sizeof c->certificate_name) < 0)
        c->certificate_name[0] = 0;
    X509_free(certificate);
}

/* A key that wants a password is one that cannot be used: nobody is asked at a terminal. */
static int no_password(char *buffer, int size, int writing, void *context) {
    (void)buffer;
    (void)size;
    (void)writing;
    (void)context;
    return -1;
}

static STACK_OF(X509) *read_chain(BIO *text) {
    STACK_OF(X509) *chain = sk_X509_new_null();
    X509 *next;
    while (chain && (next = PEM_read_bio_X509(text, NULL, no_password, NULL))) {
        if (sk_X509_push(chain, next)) continue;
        X509_free(next);
        break;
    }
    return chain;
}

const char *pws_server_renew(
    pws_server *server, const char *certificate, size_t certificate_count, const char *key, size_t key_count) {
    if (!server->tls) return "the server was started without TLS";
    const char *problem = NULL;
    BIO *certificate_text = BIO_new_mem_buf(certificate, (int)certificate_count);
    BIO *key_text = BIO_new_mem_buf(key, (int)key_count);
    X509 *leaf = certificate_text ? PEM_read_bio_X509(certificate_text, NULL, no_password, NULL) : NULL;
    STACK_OF(X509) *chain = leaf ? read_chain(certificate_text) : NULL;
    EVP_PKEY *private_key = key_text ? PEM_read_bio_PrivateKey(key_text, NULL, no_password, NULL) : NULL;
    if (!leaf)
        problem = "the certificate file holds no PEM certificate";
    else if (!private_key)
        problem = "the key file holds no PEM key that needs no password";
    else if (X509_check_private_key(leaf, private_key) != 1)
        problem = "the key is not the certificate's";
    /* Takes all of them or nothing. */
    else if (SSL_CTX_use_cert_and_key(server->tls, leaf, private_key, chain, 1) != 1)
        problem = "TLS refused the pair";
    EVP_PKEY_free(private_key);
    sk_X509_pop_free(chain, X509_free);
    X509_free(leaf);
    BIO_free(key_text);
    BIO_free(certificate_text);
    ERR_clear_error();
    return problem;
}
