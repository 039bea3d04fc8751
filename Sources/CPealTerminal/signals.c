#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include "cpealterminal.h"
#include "internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* What is told to the program. */
static const int told[] = {SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT};
enum { told_count = sizeof told / sizeof told[0] };
static struct sigaction before_told[told_count];
static volatile int descriptor = -1;

static void tell(int number) {
    int error = errno;
    unsigned char byte = (unsigned char)number;
    /* A full pipe says enough. */
    if (write(descriptor, &byte, 1) < 0) errno = 0;
    errno = error;
}

void cpt_tell_signals(int to) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = tell;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    descriptor = to;
    /* A thread that was made by one of Dispatch's has them blocked. */
    sigset_t open;
    sigemptyset(&open);
    for (int i = 0; i < told_count; i++) sigaddset(&open, told[i]);
    pthread_sigmask(SIG_UNBLOCK, &open, NULL);
    for (int i = 0; i < told_count; i++) sigaction(told[i], &action, &before_told[i]);
}

void cpt_forget_signals(void) {
    for (int i = 0; i < told_count; i++) sigaction(told[i], &before_told[i], NULL);
}

/* What ends the process by its own fault. */
static const int crashes[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
enum { crash_count = sizeof crashes / sizeof crashes[0] };
static struct sigaction before_crash[crash_count];
static struct termios modes;
static bool has_modes;

/* The cursor is shown, colours are off, and the screen from before is back; terminals that lack one of these ignore it. */
static const char restore[] = "\033[?2004l\033[?25h\033[0m\033[?1l\033>\033[?1049l\r\n";

static void give_back(int number) {
    if (has_modes) tcsetattr(STDIN_FILENO, TCSANOW, &modes);
    if (write(STDOUT_FILENO, restore, sizeof restore - 1) < 0) errno = 0;
    for (int i = 0; i < crash_count; i++) sigaction(crashes[i], &before_crash[i], NULL);
    /* Comes again when this returns, to whoever had it before. */
    raise(number);
}

void cpt_remember_modes(void) { has_modes = tcgetattr(STDIN_FILENO, &modes) == 0; }

void cpt_catch_crashes(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = give_back;
    action.sa_flags = SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < crash_count; i++) sigaction(crashes[i], &action, &before_crash[i]);
}

void cpt_forget_crashes(void) {
    for (int i = 0; i < crash_count; i++) sigaction(crashes[i], &before_crash[i], NULL);
}
