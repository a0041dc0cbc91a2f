#include "base/system/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/system/file.h"

bool spool_add(struct spool *s, struct str text)
{
	if (!s->fd)
		s->fd = file_unnamed();
	if (s->fd < 0)
		return false;
	if (file_write(s->fd, text)) {
		s->size += (int64_t)text.n;
		return true;
	}
	/* the disk is full: the file keeps what it had, and the rest stays in memory */
	if (lseek(s->fd, s->size, SEEK_SET) < 0)
		abort();
	return false;
}

size_t spool_read_some(const struct spool *s, int64_t at, char *p, size_t n)
{
	int64_t left = s->size - at;
	ssize_t got;

	do {
		got = pread(s->fd, p, left < (int64_t)n ? (size_t)left : n, at);
	} while (got < 0 && errno == EINTR);
	if (!got)
		errno = EIO;
	return got > 0 ? (size_t)got : 0;
}

bool spool_copy(const struct spool *s, int fd)
{
	static char block[1 << 16];
	size_t n;

	for (int64_t at = 0; at < s->size; at += (int64_t)n) {
		n = spool_read_some(s, at, block, sizeof block);
		if (!n || !file_write(fd, (struct str){ block, n }))
			return false;
	}
	return true;
}

bool spool_read(const struct spool *s, char *out)
{
	size_t n;

	for (int64_t at = 0; at < s->size; at += (int64_t)n)
		if (!(n = spool_read_some(s, at, out + at, (size_t)(s->size - at))))
			return false;
	return true;
}

void spool_release(struct spool *s)
{
	if (s->fd > 0)
		close(s->fd);
	*s = (struct spool){ 0 };
}
