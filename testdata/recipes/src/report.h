// Hands a crash to the recorder, as a program that uses Crashpad would.
#ifndef REPORT_H
#define REPORT_H

void report_install(void);

// Keeps calls in place: a call followed by this is never a tail call.
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

#endif
