/* Reads the last records of the journal, from its end. */
#include "store/journal_parts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"

struct journal_back {
	struct call *c;
	struct str dir;
	struct journal_end left; /* how much is still wanted */
	journal_visit *visit;
	void *arg;
};

/* Whole lines at the end of a file of `size` bytes, from at most `window` bytes; `at`: where they
 * begin. An unfinished last line is left out. */
static enum err journal_back_read(struct journal_back *b, int fd, int64_t size, int64_t window,
				  struct str *text, int64_t *at)
{
	char *bytes = arena_text(&b->c->mem, (size_t)window);
	ssize_t got = pread(fd, bytes, (size_t)window, (off_t)(size - window));
	struct str lines = { bytes, got > 0 ? (size_t)got : 0 };
	const char *first;

	if (got < 0)
		return file_fail(b->c, "read", b->dir);
	*at = size - window;
	while (lines.n && lines.p[lines.n - 1] != '\n')
		lines.n--;
	if (*at) { /* the first line may have begun earlier */
		first = lines.n ? memchr(lines.p, '\n', lines.n) : NULL;
		size_t cut = first ? (size_t)(first - lines.p) + 1 : lines.n;

		lines = str_skip(lines, cut);
		*at += (int64_t)cut;
	}
	*text = lines;
	return ERR_OK;
}

/* Visits the lines from the last to the first; the first line of a later segment is no record. */
static enum err journal_back_visit(struct journal_back *b, int64_t segment, struct str text,
				   int64_t at)
{
	enum err e = ERR_OK;

	while (!e && text.n && b->left.records) {
		size_t start = text.n - 1;
		struct journal_record r = { .segment = segment };
		int64_t after, first;

		while (start && text.p[start - 1] != '\n')
			start--;
		r.offset = at + (int64_t)start;
		r.json = (struct str){ text.p + start, text.n - 1 - start };
		text.n = start;
		if (r.json.n <= JOURNAL_HEAD || journal_has_hole(r.json, r.offset, 0))
			continue;
		r.json = str_skip(r.json, JOURNAL_HEAD);
		if (journal_head_parse(r.json, &after, &first))
			continue;
		b->left.records--;
		e = b->visit(b->c, &r, b->arg);
	}
	return e;
}

static enum err journal_back_segment(struct journal_back *b, int64_t segment, bool *all)
{
	enum { WINDOW = 64 * 1024 };
	struct str path = journal_path(b->c, b->dir, segment), text;
	AUTO_FD fd = file_own_open(&b->c->mem, path, O_RDONLY, 0);
	struct stat found;
	int64_t window = WINDOW, at = 0;
	enum err e;

	if (fd < 0 || fstat(fd, &found))
		return file_fail(b->c, "open", path);
	for (;; window *= 4) {
		if (window > found.st_size)
			window = found.st_size;
		if ((e = journal_back_read(b, fd, found.st_size, window, &text, &at)))
			return e;
		if (!at || window >= b->left.bytes || str_count(text, '\n') >= b->left.records)
			break;
	}
	*all = !at && str_count(text, '\n') <= b->left.records;
	return journal_back_visit(b, segment, text, at);
}

enum err journal_each_back(struct call *c, struct str dir, struct journal_end most,
			   journal_visit *visit, void *arg, bool *all)
{
	struct journal_back b = { .c = c, .dir = dir, .left = most, .visit = visit, .arg = arg };
	struct journal_segments s;
	enum err e = journal_segments(c, dir, &s);
	bool whole = true;

	*all = false;
	for (int64_t n = s.last; !e && s.count && whole && n >= s.first; n--)
		e = journal_back_segment(&b, n, &whole);
	*all = !e && whole;
	return e == JOURNAL_STOP ? ERR_OK : e;
}
