#ifndef BASE_PLATFORM_H
#define BASE_PLATFORM_H

#include <stddef.h>

/* What the systems do differently; one source for each of them. */

/* The file's data on the medium, not only in the drive's cache; 0 or -1. */
int platform_sync(int fd);

/* Fills `p` with random bytes; n is at most 256. */
void platform_random(void *p, size_t n);

/* What names this run of the system, until it is started again; "" if nobody knows. */
enum { PLATFORM_BOOT = 64 };
void platform_boot(char name[PLATFORM_BOOT]);

#endif
