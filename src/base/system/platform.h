#ifndef BASE_SYSTEM_PLATFORM_H
#define BASE_SYSTEM_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the systems do differently; one source for each of them. */

/* The file's data on the medium, not only in the drive's cache; 0 or -1. */
int platform_sync(int fd);

/* Fills `p` with random bytes; n is at most 256. */
void platform_random(void *p, size_t n);

/* What names this run of the system, until it is started again; "" if nobody knows. */
enum { PLATFORM_BOOT = 64 };
void platform_boot(char name[PLATFORM_BOOT]);

/* The file that this program was started from; false if it cannot be told. */
bool platform_self(char *path, size_t size);

/* The process that started another one; 0 if that cannot be told. */
int64_t platform_parent(int64_t process);

/* Another path to an open folder, short however long its own is; it holds while the folder is
 * open. False: there is none. */
enum { PLATFORM_ALIAS = 64 };
bool platform_alias(int fd, char path[PLATFORM_ALIAS]);

/* For what runs long: memory that was freed goes back to the system; of what is freed from now
 * on, all but a little does so by itself. */
void platform_give_back(void);

/* From now on this process gets no more memory than that; where the system can do so. */
void platform_limit_memory(int64_t bytes);

/* The memory that this process, and those that it starts, may have; INT64_MAX: any. */
int64_t platform_memory_limit(void);

/* When a file's content was last written, and when anything about it last changed, in nanoseconds
 * since 1970. */
struct stat;
int64_t platform_written_ns(const struct stat *st);
int64_t platform_changed_ns(const struct stat *st);

/* The process that holds flock() on a file; 0 if that cannot be told. */
int64_t platform_flock_holder(const struct stat *st);

/* Closes every open file from this number on; safe after fork(). */
void platform_close_from(int fd);

#endif
