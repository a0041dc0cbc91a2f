#ifndef BASE_SYSTEM_SPOOL_H
#define BASE_SYSTEM_SPOOL_H

#include <stdint.h>

#include "base/str.h"

/*
 * Keeps the beginning of a large text in a temporary file without a name, so that a text can be
 * complete before its first byte is printed, and need not fit into memory. A buf with a spool moves
 * its text there when it has to grow and has at least SPOOL_BLOCK bytes.
 */
struct spool {
	int fd; /* 0: no file yet; -1: no file can be written, all text stays in memory */
	int64_t size;
};

enum { SPOOL_BLOCK = 1 << 19 }; /* bytes */

/* Adds to the file. False: that failed, and the file is as it was. */
bool spool_add(struct spool *s, struct str text);

/* Writes all of the file to a descriptor. False: that failed, and errno says why. */
bool spool_copy(const struct spool *s, int fd);

/* Reads up to n bytes at an offset before the end; 0: that failed. */
size_t spool_read_some(const struct spool *s, int64_t at, char *p, size_t n);

/* Reads all of the file. */
bool spool_read(const struct spool *s, char *out);

void spool_release(struct spool *s);

#endif
