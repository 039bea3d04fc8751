#ifndef CPEALTERMINAL_H
#define CPEALTERMINAL_H
/* The terminal in full-screen mode, on ncursesw. It is C because much of ncurses is macros and global variables, and because a signal
   handler may do little. One terminal a process; all calls are of one thread. */
#include <stdbool.h>
#include <stdint.h>

/* What text looks like. */
enum {
    cpt_bold = 1,
    cpt_dim = 2,
    cpt_reverse = 4,
    cpt_underline = 8,
};

/* Keys that are no characters. */
enum {
    cpt_key_up = 1,
    cpt_key_down,
    cpt_key_left,
    cpt_key_right,
    cpt_key_page_up,
    cpt_key_page_down,
    cpt_key_home,
    cpt_key_end,
    cpt_key_enter,
    cpt_key_backspace,
    cpt_key_delete,
    cpt_key_back_tab,
    cpt_key_paste,
    cpt_key_paste_end,
    cpt_key_other,
};

/* What cpt_key found. */
enum {
    cpt_no_key = 0,
    cpt_character = 1,
    cpt_function_key = 2,
};

/* Makes LC_CTYPE one with UTF-8, for wcwidth and ncurses. */
void cpt_use_utf8(void);

/* Columns of a Unicode scalar: 0, 1, 2, or -1 where the system does not know it. cpt_use_utf8 first. */
int cpt_width(uint32_t scalar);

/* Takes the terminal of standard output and input; false where TERM names none that can do it. From then on each way out of the
   process, a crash too, gives it back. */
bool cpt_begin(void);

/* Gives it back as it was. */
void cpt_end(void);

/* How many colours it has. */
int cpt_colours(void);

/* A pair of colours, 1 to 15, for cpt_write; -1 is the terminal's own. */
void cpt_pair(int pair, int foreground, int background);

/* Asks the system for the size, and takes it over. */
void cpt_size(int *rows, int *columns);

/* The next key that has come; not blocking but for the rest of an escape sequence. */
int cpt_key(uint32_t *code);

/* Text from a row's first column on, UTF-8 without control characters; what was there goes. */
void cpt_begin_row(int row);
void cpt_write(const char *bytes, int count, int look, int pair);
void cpt_end_row(void);

/* Sends what is different; the cursor is shown at a place, or not at all where the row is negative. */
void cpt_show(int row, int column);

/* The next cpt_show sends everything. */
void cpt_redraw(void);

/* Stops the process as Ctrl-Z does, with the terminal given back meanwhile; returns when it goes on. */
void cpt_suspend(void);

/* After a stop that nobody could catch: the next cpt_show takes the terminal again. */
void cpt_resume(void);

/* From now on SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGCONT are a byte each, the signal's number, into a descriptor that does
   not block. */
void cpt_tell_signals(int descriptor);

/* Their handlers from before. */
void cpt_forget_signals(void);

#endif
