/*
 * Reads and appends the journal. A place remembers a position and the checksum of the record before
 * it, so a reader continues from its last place and notices if the files changed behind it. A
 * segment is read in pieces; records are checked against the chain of checksums and passed to the
 * visitor. journal_salvage.c reads a damaged journal.
 */
#include "store/journal_parts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/system/fault.h"
#include "base/system/file.h"
#include "base/system/platform.h"

enum {
	HEAD = JOURNAL_HEAD,
	SEGMENT_MOST = 8 * 1024 * 1024, /* then the next file is started */
};

struct str journal_path(struct call *c, struct str dir, int64_t segment)
{
	return arena_fmt(&c->mem, STR_FMT "/journal.%lld", STR_ARG(dir), (long long)segment);
}

/* The start of a segment; the chain of checksums continues from the previous one. */
static struct journal_place start_of(int64_t segment, struct journal_place before)
{
	return (struct journal_place){ segment, 0, -1, before.crc, before.first };
}

static uint32_t journal_checksum(struct str json, int64_t before)
{
	return crc32c((uint32_t)before, json);
}

static enum err journal_restore(struct call *c)
{
	return call_remedy(c, "Run 'bd repair --apply', which sets the damaged file aside, saves "
			      "every intact record and lists the others");
}

static void see_segment(void *arg, struct str name)
{
	struct journal_segments *s = arg;
	int64_t n;

	if (!str_starts(name, STR("journal.")) || !number_int(str_skip(name, 8), &n) || n <= 0)
		return;
	s->first = s->count && s->first < n ? s->first : n;
	s->last = n > s->last ? n : s->last;
	s->count++;
}

enum err journal_segments(struct call *c, struct str dir, struct journal_segments *out)
{
	*out = (struct journal_segments){ 0 };
	return file_each(c, dir, see_segment, out);
}

/* Files between the first and the last are missing. */
static enum err journal_incomplete(struct call *c, struct str dir, const struct journal_segments *s)
{
	call_fail(c, ERR_JOURNAL_LOST,
		  "of the files journal.%lld to journal.%lld in '" STR_FMT "' only %lld exist",
		  (long long)s->first, (long long)s->last, STR_ARG(dir), (long long)s->count);
	return journal_restore(c);
}

bool journal_exists(struct call *c, struct str dir)
{
	struct journal_segments s;
	enum err e = journal_segments(c, dir, &s);

	call_forgive(c);
	return e || s.count;
}

bool journal_hex(struct str text, uint32_t *out)
{
	*out = 0;
	for (size_t i = 0; i < 8; i++) {
		char ch = text.p[i];

		if (ch >= '0' && ch <= '9')
			*out = *out << 4 | (uint32_t)(ch - '0');
		else if (ch >= 'a' && ch <= 'f')
			*out = *out << 4 | (uint32_t)(ch - 'a' + 10);
		else
			return false;
	}
	return true;
}

/* Is the record before the place still the one with the place's checksum? */
static bool journal_agrees(struct call *c, struct str path, struct journal_place place)
{
	AUTO_FD fd = file_own_open(&c->mem, path, O_RDONLY, 0);
	char head[HEAD], end;
	uint32_t crc;

	return place.last < 0 ||
	       (fd >= 0 && pread(fd, head, HEAD, (off_t)place.last) == HEAD &&
		pread(fd, &end, 1, (off_t)place.offset - 1) == 1 && end == '\n' &&
		journal_hex((struct str){ head, HEAD }, &crc) && crc == (uint32_t)place.crc);
}

/* The first line of every segment but the first: the state at the end of the previous one. */
static struct str journal_head_text(struct call *c, struct journal_place before)
{
	return arena_fmt(&c->mem, "{\"after\":%lld,\"first\":%lld}", (long long)before.crc,
			 (long long)before.first);
}

bool journal_head_parse(struct str json, int64_t *after, int64_t *first)
{
	struct str rest = json, part;

	return str_starts(json, STR("{\"after\":")) &&
	       (rest = str_skip(json, 9), str_next(&rest, ',', &part)) && number_int(part, after) &&
	       str_starts(rest, STR("\"first\":")) && str_ends(rest, STR("}")) &&
	       number_int(str_skip(str_head(rest, rest.n - 1), 8), first);
}

/* The identity of the journal, from its oldest segment: the checksum of its very first record. */
static bool journal_identify(struct call *c, struct str dir, int64_t segment, int64_t *first)
{
	struct str path = journal_path(c, dir, segment);
	AUTO_FD fd = file_own_open(&c->mem, path, O_RDONLY, 0);
	char head[128], *end;
	ssize_t got = fd < 0 ? -1 : pread(fd, head, sizeof head, 0);
	int64_t after;
	uint32_t crc;

	if (got < HEAD || !journal_hex((struct str){ head, HEAD }, &crc))
		return false;
	*first = crc;
	if (segment == 1)
		return true;
	end = memchr(head, '\n', (size_t)got);
	return end && journal_head_parse((struct str){ head + HEAD, (size_t)(end - head) - HEAD },
					 &after, first);
}

/*
 * Does the place belong to this journal? A missing journal counts as the same, so that its loss is
 * reported.
 */
static bool same_journal(struct call *c, struct str dir, struct journal_place place)
{
	struct journal_segments s;
	int64_t first;

	return journal_segments(c, dir, &s) || !s.count ||
	       !journal_identify(c, dir, s.first, &first) || first == place.first;
}

/* Was the segment dropped because a commit has all of its records? */
static bool journal_dropped(struct call *c, struct str dir, int64_t segment)
{
	struct journal_segments s;

	return !journal_segments(c, dir, &s) && s.count && s.first > segment;
}

/* The file is missing, or the only file is empty, and nothing shows that this was intended. */
static enum err journal_lost(struct call *c, struct str path, int64_t offset)
{
	call_fail(c, ERR_JOURNAL_LOST,
		  "'" STR_FMT
		  "' is missing, or has lost records that were there: it ended after byte %lld",
		  STR_ARG(path), (long long)offset);
	return call_remedy(c, "Restore the file from a backup, or run 'bd repair --apply' to "
			      "continue with the published beads");
}

/* Is no record left in any file? */
static bool nothing_left(struct call *c, struct str dir, int64_t segment, int64_t size)
{
	struct journal_segments s;

	return size < 0 || (!size && !journal_segments(c, dir, &s) && s.first == segment);
}

enum err journal_compare(struct call *c, struct str dir, struct journal_place place,
			 enum journal_news *news)
{
	struct str path = journal_path(c, dir, place.segment);
	struct file_found found;
	enum err e = file_look(c, path, &found);
	int64_t size = found.size;

	if (e)
		return e;
	if (!place.segment) { /* nothing was ever written */
		*news = file_exists(&c->mem, journal_path(c, dir, 1)) ? JOURNAL_MORE :
			journal_exists(c, dir)                        ? JOURNAL_AHEAD :
									JOURNAL_SAME;
		return ERR_OK;
	}
	if (size < 0 && journal_dropped(c, dir, place.segment)) {
		*news = JOURNAL_AHEAD;
		return ERR_OK;
	}
	if (place.last >= 0 && size <= place.last && same_journal(c, dir, place)) {
		if (nothing_left(c, dir, place.segment, size))
			return journal_lost(c, path, place.last);
		*news = JOURNAL_SHORTER;
		return ERR_OK;
	}
	if (size < place.offset || !journal_agrees(c, path, place))
		*news = JOURNAL_AHEAD;
	else if (size > place.offset ||
		 file_exists(&c->mem, journal_path(c, dir, place.segment + 1)))
		*news = JOURNAL_MORE;
	else
		*news = JOURNAL_SAME;
	return ERR_OK;
}

static enum err journal_damaged(struct call *c, struct str path, int64_t offset)
{
	call_fail(c, ERR_JOURNAL_LOST,
		  "'" STR_FMT "' is damaged: the record at byte %lld has a wrong checksum",
		  STR_ARG(path), (long long)offset);
	return journal_restore(c);
}

bool journal_has_hole(struct str line, int64_t offset, int64_t after)
{
	enum { UNSYNCED = 1 << 20 }; /* more bytes than writers append between two syncs */

	return after <= UNSYNCED && file_has_hole(line, offset);
}

/* A segment being read, and the part of it that is in memory. */
struct journal_reader {
	struct call *c;
	struct str path;
	struct journal_place *place;
	bool last; /* no other segment follows */
	journal_visit *visit;
	void *arg;
	struct arena mem;
	struct buf held; /* the bytes from `place` on */
	size_t searched; /* the number of those bytes without a line end */
	bool skipping;   /* the bytes at `place` are not a record, and are not held */
	bool hole;       /* those bytes were lost by a power failure */
};

/* The bytes at the place are not an intact record. Did a power failure leave them? */
static bool journal_reader_ends(const struct journal_reader *r, struct str bytes)
{
	int64_t offset = r->place->offset, size = file_size(&r->c->mem, r->path);

	return r->last && journal_has_hole(bytes, offset, size - offset - (int64_t)bytes.n);
}

static enum err journal_reader_fail(const struct journal_reader *r, struct str line)
{
	return journal_reader_ends(r, line) ? JOURNAL_STOP :
					      journal_damaged(r->c, r->path, r->place->offset);
}

/* Processes the record at the front, a complete line. */
static enum err take_record(struct journal_reader *r, struct str line)
{
	struct journal_place *place = r->place;
	struct journal_record record = { str_skip(line, line.n < HEAD ? line.n : HEAD),
					 place->segment, place->offset };
	bool head = !place->offset && place->segment > 1;
	int64_t before = place->crc, first = place->first;
	uint32_t crc = 0;
	enum err e;

	if (line.n <= HEAD || !journal_hex(line, &crc) || line.p[8] != ' ')
		return journal_reader_fail(r, line);
	if (head && !journal_head_parse(record.json, &before, &first))
		return journal_reader_fail(r, line);
	if (crc != journal_checksum(record.json, before) ||
	    (place->first && (before != place->crc || first != place->first)))
		return journal_reader_fail(r, line);
	place->first = first;
	if (!head && (e = r->visit(r->c, &record, r->arg)))
		return e;
	place->first = place->crc || place->first ? place->first : crc;
	place->crc = crc;
	place->last = place->offset;
	place->offset += (int64_t)line.n + 1;
	return ERR_OK;
}

/*
 * A crash can leave garbage as large as the disk at the end of the file. So only bytes that begin
 * like a record are held in memory until their line end is found; others are dropped.
 */
static void journal_hold(struct journal_reader *r, struct str rest)
{
	uint32_t crc;

	if (!r->skipping && rest.n >= HEAD && (!journal_hex(rest, &crc) || rest.p[8] != ' ')) {
		r->skipping = true;
		r->hole = journal_reader_ends(r, rest);
	}
	r->held.n = r->skipping ? 0 : rest.n;
	memmove(r->held.p, rest.p, r->held.n);
	r->searched = r->held.n;
}

/* Processes all complete records in memory, and moves the remaining bytes to the front. */
static enum err take_records(struct journal_reader *r)
{
	struct str rest = { r->held.p, r->held.n };
	const char *end;
	enum err e;

	while (rest.n > r->searched &&
	       (end = memchr(rest.p + r->searched, '\n', rest.n - r->searched))) {
		struct str line = { rest.p, (size_t)(end - rest.p) };

		if (r->skipping)
			return r->hole ? JOURNAL_STOP :
					 journal_damaged(r->c, r->path, r->place->offset);
		if ((e = take_record(r, line)))
			return e;
		rest = str_skip(rest, line.n + 1);
		r->searched = 0;
	}
	journal_hold(r, rest);
	return ERR_OK;
}

/*
 * A complete record with another byte in place of its line end is damage: an interrupted write
 * leaves only the beginning of a line.
 */
static bool end_overwritten(const struct journal_reader *r)
{
	struct str line = { r->held.p, r->held.n };
	uint32_t crc;

	if (r->skipping || line.n < HEAD + 2 || !journal_hex(line, &crc))
		return false;
	line.n--;
	return crc == journal_checksum(str_skip(line, HEAD), r->place->crc);
}

static enum err journal_read_all(struct journal_reader *r, int fd)
{
	enum { CHUNK = 256 * 1024 };
	ssize_t got;
	enum err e;

	if (lseek(fd, (off_t)r->place->offset, SEEK_SET) < 0)
		return file_fail(r->c, "read", r->path);
	do {
		if ((got = file_some(fd, buf_room(&r->held, CHUNK), CHUNK)) < 0)
			return file_fail(r->c, "read", r->path);
		r->held.n += (size_t)got;
		if ((e = take_records(r)))
			return e;
	} while (got);
	/* a line without an end was interrupted and never acknowledged */
	return ((r->held.n || r->skipping) && !r->last) || end_overwritten(r) ?
		       journal_damaged(r->c, r->path, r->place->offset) :
		       ERR_OK;
}

static enum err read_segment(struct journal_reader *r)
{
	AUTO_FD fd = file_own_open(&r->c->mem, r->path, O_RDONLY, 0);
	enum err e;

	if (fd < 0)
		return file_fail(r->c, "open", r->path);
	r->held = (struct buf){ .mem = &r->mem };
	r->searched = 0;
	r->skipping = r->hole = false;
	e = journal_read_all(r, fd);
	arena_release(&r->mem);
	return e;
}

enum err journal_each(struct call *c, struct str dir, struct journal_place *place,
		      journal_visit *visit, void *arg)
{
	struct journal_reader r = { .c = c, .place = place, .visit = visit, .arg = arg };
	struct journal_segments s;
	enum err e = journal_segments(c, dir, &s);

	if (e || !s.count)
		return e;
	if (!place->segment)
		*place = start_of(s.first, (struct journal_place){ 0 });
	for (;;) {
		r.path = journal_path(c, dir, place->segment);
		r.last = place->segment == s.last;
		if ((e = read_segment(&r)) || r.last)
			return e == JOURNAL_STOP ? ERR_OK : e;
		if (!file_exists(&c->mem, journal_path(c, dir, place->segment + 1)))
			return journal_incomplete(c, dir, &s);
		*place = start_of(place->segment + 1, *place);
	}
}

enum err journal_missing(struct call *c, struct str dir, int64_t segment)
{
	call_fail(c, ERR_JOURNAL_LOST, "'" STR_FMT "' is missing",
		  STR_ARG(journal_path(c, dir, segment)));
	return journal_restore(c);
}

bool journal_one_follows(struct call *c, struct str dir, struct journal_place place)
{
	struct str path = journal_path(c, dir, place.segment);
	AUTO_FD fd = file_own_open(&c->mem, path, O_RDONLY, 0);
	char some[16 * 1024], *end;
	ssize_t got;

	if (fd < 0 || file_exists(&c->mem, journal_path(c, dir, place.segment + 1)))
		return false;
	got = pread(fd, some, sizeof some, (off_t)place.offset);
	end = got > 0 ? memchr(some, '\n', (size_t)got) : NULL;
	return got >= 0 && got < (ssize_t)sizeof some && (!end || end == some + got - 1);
}

enum err journal_last(struct call *c, struct str dir, struct journal_place *end)
{
	struct journal_segments s;
	struct file_found found = { 0 };
	enum err e = journal_segments(c, dir, &s);

	*end = (struct journal_place){ .segment = s.last };
	if (!e && s.count)
		e = file_look(c, journal_path(c, dir, s.last), &found);
	end->offset = found.size;
	return e;
}

enum err journal_size(struct call *c, struct str dir, int64_t *bytes, int64_t *files)
{
	struct journal_segments s;
	struct file_found found;
	enum err e = journal_segments(c, dir, &s);

	*bytes = 0;
	*files = s.count;
	for (int64_t i = s.first; !e && i <= s.last; i++)
		if (!(e = file_look(c, journal_path(c, dir, i), &found)))
			*bytes += found.size > 0 ? found.size : 0;
	return e;
}

/* Opens the segment for appending at `place`, and cuts off an unfinished line after it. */
static enum err open_end(struct call *c, struct str path, struct journal_place place, int *fd)
{
	struct stat st;

	*fd = file_own_open(&c->mem, path, O_WRONLY | O_CREAT, 0600);
	if (*fd < 0 || fstat(*fd, &st))
		return file_fail(c, "open", path);
	if (st.st_size > place.offset) {
		fault_point();
		if (ftruncate(*fd, (off_t)place.offset))
			return file_fail(c, "truncate", path);
	}
	if (lseek(*fd, (off_t)place.offset, SEEK_SET) < 0)
		return file_fail(c, "open", path);
	return ERR_OK;
}

/*
 * Before a new segment is started, the previous one is cut at its end and synced: a segment counts
 * only together with all records before it.
 */
static enum err journal_finish(struct call *c, struct str dir, struct journal_place place)
{
	AUTO_FD fd = -1;
	enum err e;

	if (!place.segment) /* nothing was ever written */
		return ERR_OK;
	e = open_end(c, journal_path(c, dir, place.segment), place, &fd);
	return e ? e : journal_sync(c, dir, fd);
}

static void put_line(struct buf *out, struct journal_place *at, struct str json)
{
	uint32_t crc = journal_checksum(json, at->crc);

	at->last = at->offset;
	at->offset += (int64_t)(HEAD + json.n + 1);
	at->crc = crc;
	at->first = at->first ? at->first : crc;
	buf_fmt(out, "%08x ", crc);
	buf_put(out, json);
	buf_char(out, '\n');
}

/*
 * Writes the lines at `at` with one write; at the start of a segment, its first line comes before
 * them. A partial write leaves a line without an end, which does not count, whether or not it can
 * be cut off now. The name of a new segment is durable before its content.
 */
static enum err journal_put_lines(struct call *c, struct str dir, struct journal_place at,
				  const struct str *json, size_t count, struct journal_place *place,
				  int *fd)
{
	struct buf lines = { .mem = &c->mem };
	struct journal_place before = at;
	struct str path = journal_path(c, dir, at.segment);
	bool begins = !at.offset;
	enum err e;

	if (begins && at.segment > 1)
		put_line(&lines, &at, journal_head_text(c, before));
	for (size_t i = 0; i < count; i++)
		put_line(&lines, &at, json[i]);
	if ((e = open_end(c, path, before, fd)) || (begins && (e = file_sync_dir(c, path)))) {
		file_close(fd);
		return e;
	}
	if (!file_write(*fd, buf_str(&lines))) {
		e = file_fail(c, "append to", path);
		(void)!ftruncate(*fd, (off_t)before.offset);
		file_close(fd);
		return e;
	}
	*place = at;
	return ERR_OK;
}

enum err journal_append(struct call *c, struct str dir, struct journal_place *place,
			const struct str *json, size_t count, int *fd)
{
	struct journal_place at = *place;
	enum err e;

	if (!at.segment || at.offset >= SEGMENT_MOST)
		at = start_of(at.segment + 1, at);
	if (at.segment != place->segment && (e = journal_finish(c, dir, *place)))
		return e;
	return journal_put_lines(c, dir, at, json, count, place, fd);
}

enum err journal_restart(struct call *c, struct str dir, struct journal_place *place,
			 const struct str *json, size_t count, int *fd)
{
	enum err e = journal_finish(c, dir, *place);

	return e ? e :
		   journal_put_lines(c, dir, start_of(place->segment + 1, *place), json, count,
				     place, fd);
}

enum err journal_drop(struct call *c, struct str dir, int64_t segment)
{
	struct journal_segments s;
	enum err e = journal_segments(c, dir, &s);

	for (int64_t i = s.first; !e && s.count && i < segment; i++) {
		fault_point();
		e = file_remove(c, journal_path(c, dir, i));
	}
	return e;
}

enum err journal_sync_end(struct call *c, struct str dir, struct journal_place place)
{
	struct str path = journal_path(c, dir, place.segment);
	AUTO_FD fd = file_own_open(&c->mem, path, O_WRONLY, 0);

	if (!place.segment) /* nothing was ever written */
		return ERR_OK;
	return fd < 0 ? file_fail(c, "open", path) : journal_sync(c, dir, fd);
}

enum err journal_sync(struct call *c, struct str dir, int fd)
{
	fault_point();
	return platform_sync(fd) ? file_fail(c, "sync the journal in", dir) : ERR_OK;
}
