#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "internal.h"

static pthread_mutex_t process = PTHREAD_MUTEX_INITIALIZER;
static bool tls_initialised;

void pws_lock_process(void) { pthread_mutex_lock(&process); }

void pws_unlock_process(void) { pthread_mutex_unlock(&process); }

char *pws_copy(const char *text) { return text ? strdup(text) : NULL; }

pws_service *pws_service_create(pws_callback callback) {
    /* Its timer for silence lies in a sorted list that is walked at each sign of life; sweep.c does its work. */
    static const lws_retry_bo_t no_validity;
    pws_service *service = calloc(1, sizeof *service);
    if (!service) return NULL;
    service->callback = callback;
    service->sweep_at = INT64_MAX;
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
        .retry_and_idle_policy = &no_validity,
        .timeout_secs = PWS_HANDSHAKE_SECONDS,
        .pt_serv_buf_size = 16 * 1024,
        .gid = (gid_t)-1,
        .uid = (uid_t)-1,
    };
    pws_lock_process();
    lws_set_log_level(0, NULL);
    /* Once: each time it takes new places for what it keeps with OpenSSL's objects, and the handshakes of another context
     * that are under way no longer find theirs. */
    if (!tls_initialised) info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    service->context = lws_create_context(&info);
    if (service->context) tls_initialised = true;
    pws_unlock_process();
    if (!service->context) {
        free(service);
        return NULL;
    }
    return service;
}

void pws_service_destroy(pws_service *service) {
    lws_sul_cancel(&service->deadline);
    lws_sul_cancel(&service->sweep);
    service->sweep_at = 0; /* no sweep can be asked for any more */
    service->destroying = true;
    for (pws_server *server = service->servers; server; server = server->next) server->owner = NULL;
    while (service->connections) {
        static const char why[] = "the service was stopped";
        pws_connection_why(service->connections, PWS_CODE_LOST, why, sizeof why - 1);
        pws_connection_over(service->connections);
    }
    pws_lock_process();
    lws_context_destroy(service->context);
    pws_unlock_process();
    pws_servers_free(service);
    pws_routes_free(service);
    free(service);
}

/* Waits until this turn keeps its distance from the last. What comes first after a silence is not delayed. */
static void space_turns(pws_service *service) {
    if (service->count <= PWS_UNSPACED_CONNECTIONS) return;
    lws_usec_t spacing = service->count < PWS_SPACING_US_MAX ? service->count : PWS_SPACING_US_MAX;
    lws_usec_t left = service->turn + spacing - lws_now_usecs();
    if (left <= 0 || left > spacing) return;
    struct timespec time = {.tv_sec = 0, .tv_nsec = (long)left * 1000};
    nanosleep(&time, NULL);
}

int pws_run(pws_service *service, bool wait) {
    space_turns(service);
    service->turn = lws_now_usecs();
    return lws_service(service->context, wait ? 0 : -1);
}

void pws_wake(pws_service *service) { lws_cancel_service(service->context); }

/* Timers run before libwebsockets waits, so this one has to end the wait that is about to begin. */
static void deadline_reached(lws_sorted_usec_list_t *entry) { pws_wake(lws_container_of(entry, pws_service, deadline)); }

void pws_set_deadline(pws_service *service, int64_t microseconds) {
    if (microseconds < 0)
        lws_sul_cancel(&service->deadline);
    else
        lws_sul_schedule(service->context, 0, &service->deadline, deadline_reached, microseconds + 1);
}

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
