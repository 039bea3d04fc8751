#ifndef CPEALTERMINAL_INTERNAL_H
#define CPEALTERMINAL_INTERNAL_H

/* Keeps the terminal's modes as they are now, for cpt_catch_crashes. */
void cpt_remember_modes(void);

/* From now on a crash gives the terminal back, and then goes on as it would have. */
void cpt_catch_crashes(void);
void cpt_forget_crashes(void);

#endif
