#ifndef CPEALCURL_SHIM_H
#define CPEALCURL_SHIM_H
#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What Swift cannot call: curl_easy_setopt and curl_easy_getinfo are variadic. One call that posts, and nothing else. */

struct peal_curl_post {
    const char *url;
    const void *body;
    size_t body_size;
    const char *const *headers; /* "Name: value", ended by NULL */
    long connect_milliseconds;
    long milliseconds;
    /* Whether an address that the name resolved to may be called; asked before a socket is made for it. */
    int (*allows)(void *context, const struct sockaddr *address);
    /* Whether the call is to be given up; asked about once a second. */
    int (*stops)(void *context);
    void *context;
};

/* The bytes of an IPv4 or IPv6 address and its port, and how many bytes they are; 0 for another family. In C, because which Swift module the members of these
   structures belong to depends on what else is imported. */
static inline int peal_curl_address(const struct sockaddr *address, unsigned char bytes[16], int *port) {
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
    switch (address->sa_family) {
    case AF_INET: memcpy(bytes, &four->sin_addr, 4); *port = ntohs(four->sin_port); return 4;
    case AF_INET6: memcpy(bytes, &six->sin6_addr, 16); *port = ntohs(six->sin6_port); return 16;
    default: return 0;
    }
}

static inline curl_socket_t peal_curl_open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    const struct peal_curl_post *post = (const struct peal_curl_post *)context;
    if (purpose != CURLSOCKTYPE_IPCXN || !post->allows(post->context, &address->addr)) return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* Nobody reads the answer's body; one that does not end is cut. */
static inline size_t peal_curl_drop(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    size_t *left = (size_t *)context;
    if (size * count > *left) return 0;
    *left -= size * count;
    return size * count;
}

static inline int peal_curl_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    const struct peal_curl_post *post = (const struct peal_curl_post *)context;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return post->stops(post->context);
}

/* Once, before any thread. */
static inline int peal_curl_start(void) { return (int)curl_global_init(CURL_GLOBAL_DEFAULT); }

/* The answer's status; 0 and curl's code in *failure where there is none. No redirect, proxy, cookie or other protocol. Blocks. */
static inline long peal_curl_send(const struct peal_curl_post *post, int *failure) {
    long status = 0;
    size_t left = 64 * 1024;
    struct curl_slist *headers = NULL;
    CURL *curl = curl_easy_init();
    *failure = CURLE_FAILED_INIT;
    if (curl == NULL) return 0;
    for (const char *const *header = post->headers; *header != NULL; header++)
        headers = curl_slist_append(headers, *header);
    curl_easy_setopt(curl, CURLOPT_URL, post->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, post->connect_milliseconds);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, post->milliseconds);
    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, peal_curl_open_socket);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, post);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, peal_curl_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, post);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, peal_curl_drop);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &left);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->body_size);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->body);
    *failure = (int)curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return status;
}
#endif
