#ifndef BASE_SYSTEM_PLATFORM_H
#define BASE_SYSTEM_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Differences between operating systems; each has its own source file. */

/* Syncs the file's data to the medium, not only to the drive's cache; 0 or -1. */
int platform_sync(int fd);

/* Fills `p` with random bytes; n is at most 256. */
void platform_random(void *p, size_t n);

/* An identifier of the current boot of the system; "" if unknown. */
enum { PLATFORM_BOOT = 64 };
void platform_boot(char name[PLATFORM_BOOT]);

/* The path of the running executable; false if unknown. */
bool platform_self(char *path, size_t size);

/* The parent of a process; 0 if unknown. */
int64_t platform_parent(int64_t process);

/*
 * A short alias path of an open folder, valid while the folder is open. False: the system has none.
 */
enum { PLATFORM_ALIAS = 64 };
bool platform_alias(int fd, char path[PLATFORM_ALIAS]);

/*
 * For long-running processes: returns freed memory to the system, and makes later frees return all
 * but a little of it.
 */
void platform_give_back(void);

/* Limits the memory of this process, where the system supports it. */
void platform_limit_memory(int64_t bytes);

/* The memory limit of this process and its children; INT64_MAX: unlimited. */
int64_t platform_memory_limit(void);

/* The times of the last change to a file's content and to its inode, in nanoseconds since 1970. */
struct stat;
int64_t platform_written_ns(const struct stat *st);
int64_t platform_changed_ns(const struct stat *st);

/*
 * Opens a folder, to open files in it: needs no permission to list it, and follows no link. `dir`
 * is an open folder, or AT_FDCWD. -1: errno says why.
 */
int platform_open_folder(int dir, const char *name);

/*
 * Does this uid stand for all users that have none in this user namespace? In many sandboxes, root
 * is one of them.
 */
bool platform_is_unmapped(uid_t uid);

/* The process that holds flock() on a file; 0 if unknown. */
int64_t platform_flock_holder(const struct stat *st);

/* Closes every file descriptor from `fd` up; async-signal-safe. */
void platform_close_from(int fd);

#endif
