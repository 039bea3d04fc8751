#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#define NCURSES_WIDECHAR 1
#include "cpealterminal.h"
#include "internal.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

static SCREEN *screen;
/* Keys are read from a window that is never shown: wget_wch of stdscr would draw it first. */
static WINDOW *keys;
static bool has_exit_handler;

/* Codes above those that curses knows. */
enum { paste_code = KEY_MAX + 1, paste_end_code = KEY_MAX + 2 };

/* Whether pasted text is told from what is typed; terminals that cannot tell ignore it. */
static void tell_pastes(bool wanted) {
    const char *mode = wanted ? "\033[?2004h" : "\033[?2004l";
    if (write(STDOUT_FILENO, mode, strlen(mode)) < 0) errno = 0;
}

void cpt_use_utf8(void) {
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) setlocale(LC_CTYPE, "C.UTF-8");
}

int cpt_width(uint32_t scalar) { return wcwidth((wchar_t)scalar); }

static void end_at_exit(void) { cpt_end(); }

bool cpt_begin(void) {
    if (screen) return true;
    cpt_use_utf8();
    cpt_remember_modes();
    /* LINES and COLUMNS of the environment are of another moment. */
    use_env(FALSE);
    use_tioctl(TRUE);
    screen = newterm(NULL, stdout, stdin);
    if (!screen) return false;
    if (!has_exit_handler) {
        has_exit_handler = true;
        atexit(end_at_exit);
    }
    cbreak();
    noecho();
    nonl();
    set_escdelay(25);
    intrflush(stdscr, FALSE);
    leaveok(stdscr, FALSE);
    curs_set(0);
    keys = newpad(1, 1);
    keypad(keys, TRUE);
    nodelay(keys, TRUE);
    define_key("\033[200~", paste_code);
    define_key("\033[201~", paste_end_code);
    tell_pastes(true);
    if (has_colors()) {
        start_color();
        use_default_colors();
    }
    cpt_catch_crashes();
    return true;
}

void cpt_end(void) {
    if (!screen) return;
    tell_pastes(false);
    curs_set(1);
    if (!isendwin()) endwin();
    cpt_forget_crashes();
    delwin(keys);
    delscreen(screen);
    screen = NULL;
    keys = NULL;
}

int cpt_colours(void) { return has_colors() ? COLORS : 0; }

void cpt_pair(int pair, int foreground, int background) { init_pair((short)pair, (short)foreground, (short)background); }

void cpt_size(int *rows, int *columns) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        if (size.ws_row != LINES || size.ws_col != COLS) resizeterm(size.ws_row, size.ws_col);
    }
    *rows = LINES;
    *columns = COLS;
}

static uint32_t function_key(wint_t code) {
    switch (code) {
    case KEY_UP: return cpt_key_up;
    case KEY_DOWN: return cpt_key_down;
    case KEY_LEFT: return cpt_key_left;
    case KEY_RIGHT: return cpt_key_right;
    case KEY_PPAGE: return cpt_key_page_up;
    case KEY_NPAGE: return cpt_key_page_down;
    case KEY_HOME: return cpt_key_home;
    case KEY_END: return cpt_key_end;
    case KEY_ENTER: return cpt_key_enter;
    case KEY_BACKSPACE: return cpt_key_backspace;
    case KEY_DC: return cpt_key_delete;
    case KEY_BTAB: return cpt_key_back_tab;
    case paste_code: return cpt_key_paste;
    case paste_end_code: return cpt_key_paste_end;
    default: return cpt_key_other;
    }
}

int cpt_key(uint32_t *code) {
    wint_t read = 0;
    switch (wget_wch(keys, &read)) {
    case OK: *code = (uint32_t)read; return cpt_character;
    case KEY_CODE_YES: *code = function_key(read); return cpt_function_key;
    default: return cpt_no_key;
    }
}

void cpt_begin_row(int row) { wmove(stdscr, row, 0); }

void cpt_write(const char *bytes, int count, int look, int pair) {
    attr_t attributes = A_NORMAL;
    if (look & cpt_bold) attributes |= A_BOLD;
    if (look & cpt_dim) attributes |= A_DIM;
    if (look & cpt_reverse) attributes |= A_REVERSE;
    if (look & cpt_underline) attributes |= A_UNDERLINE;
    wattr_set(stdscr, attributes, (short)pair, NULL);
    waddnstr(stdscr, bytes, count);
}

void cpt_end_row(void) { wattr_set(stdscr, A_NORMAL, 0, NULL); }

void cpt_show(int row, int column) {
    curs_set(row >= 0 ? 1 : 0);
    if (row >= 0) wmove(stdscr, row, column);
    wrefresh(stdscr);
}

void cpt_redraw(void) { clearok(stdscr, TRUE); }

void cpt_suspend(void) {
    struct sigaction stop, ours;
    tell_pastes(false);
    endwin();
    memset(&stop, 0, sizeof stop);
    stop.sa_handler = SIG_DFL;
    sigaction(SIGTSTP, &stop, &ours);
    /* To this thread, so that it stops here. Where nobody could let it go on, the system does not stop it. */
    raise(SIGTSTP);
    sigaction(SIGTSTP, &ours, NULL);
    tell_pastes(true);
    clearok(stdscr, TRUE);
}

void cpt_resume(void) {
    endwin();
    tell_pastes(true);
    clearok(stdscr, TRUE);
}
