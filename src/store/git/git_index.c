#include "store/git/git_index.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"

enum {
	BLOCK = 32 * 1024,    /* bytes per read */
	NAME_MOST = 4 * 1024, /* Git checks out no longer path */
	STAT = 40,            /* bytes of an entry before its object id */
	MODE = 24,            /* offset of the mode in them */
	EXTENDED = 0x4000,
	LENGTH = 0x0fff,
	SHORT = 1024, /* an index with at most this many entries is read to its end */
};

struct git_index_reader {
	int fd;
	off_t size;      /* size of the file */
	off_t next;      /* file offset after the block */
	size_t begun;    /* number of bytes, while the block is the beginning of the file; else 0 */
	size_t at, held; /* position and number of the unused bytes in the block */
	size_t room;     /* size of the block; a short file fits as a whole */
	unsigned char *block;
	/* the previous entry's name: version 4 stores only the difference to it */
	size_t before;
	unsigned char name[NAME_MOST];
	bool folder; /* the entry represents everything below it */
};

static const unsigned char *git_index_fill(struct git_index_reader *r, size_t n)
{
	while (r->held < n) {
		ssize_t got;

		if (r->next >= r->size)
			return NULL;
		memmove(r->block, r->block + r->at, r->held);
		r->at = 0;
		r->begun = 0;
		got = pread(r->fd, r->block + r->held, r->room - r->held, r->next);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return NULL;
		r->next += got;
		r->held += (size_t)got;
		r->begun = r->next == got ? (size_t)got : 0;
	}
	return r->block + r->at;
}

/* The next n bytes, without consuming them; NULL: the file ends before. */
static inline const unsigned char *git_index_peek(struct git_index_reader *r, size_t n)
{
	return r->held >= n ? r->block + r->at : git_index_fill(r, n);
}

static inline const unsigned char *git_index_take(struct git_index_reader *r, size_t n)
{
	const unsigned char *p = git_index_peek(r, n);

	if (p) {
		r->at += n;
		r->held -= n;
	}
	return p;
}

static uint32_t git_index_number(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Reads a name up to its NUL, after the first `keep` bytes of the previous name. */
static bool take_text(struct git_index_reader *r, size_t keep)
{
	const unsigned char *p;

	for (r->before = keep; (p = git_index_take(r, 1)) && *p; r->before++) {
		if (r->before == NAME_MOST)
			return false;
		r->name[r->before] = *p;
	}
	return p;
}

/* Reads the number of bytes to remove from the end of the previous name. */
static bool take_cut(struct git_index_reader *r, size_t *cut)
{
	const unsigned char *p = git_index_take(r, 1);

	for (*cut = 0; p; p = git_index_take(r, 1)) {
		*cut = (*cut << 7) + (*p & 127);
		if (!(*p & 128))
			return *cut <= r->before;
		if (++*cut > NAME_MOST)
			return false;
	}
	return false;
}

/* In versions 2 and 3, one to eight NULs pad an entry to a multiple of eight bytes. */
static bool take_name(struct git_index_reader *r, size_t head, size_t length)
{
	const unsigned char *p;
	size_t fill;

	if (length == LENGTH) { /* LENGTH or longer */
		if (!take_text(r, 0))
			return false;
		length = r->before;
		fill = 7 - (head + length) % 8;
		return length >= LENGTH && git_index_take(r, fill);
	}
	fill = 8 - (head + length) % 8;
	if (!(p = git_index_take(r, length + fill)) || memchr(p, '\0', length) || p[length])
		return false;
	memcpy(r->name, p, length);
	r->before = length;
	return true;
}

static bool is_folder(uint32_t mode)
{
	return (mode & 0170000) == 0160000 || (mode & 0170000) == 0040000;
}

/* Reads the next entry; false: it is invalid. */
static bool take_entry(struct git_index_reader *r, uint32_t version, size_t id)
{
	const unsigned char *p = git_index_take(r, STAT + id + 2);
	size_t head = STAT + id + 2, cut;
	unsigned flags = p ? (unsigned)p[head - 2] << 8 | p[head - 1] : 0;

	if (!p || ((flags & EXTENDED) && version < 3))
		return false;
	r->folder = is_folder(git_index_number(p + MODE));
	if (flags & EXTENDED) {
		head += 2;
		if (!git_index_take(r, 2))
			return false;
	}
	if (version < 4)
		return take_name(r, head, flags & LENGTH);
	return take_cut(r, &cut) && take_text(r, r->before - cut);
}

/* Skips an entry without reading its name, but still checks that the entry is valid. */
static bool skip_entry(struct git_index_reader *r, uint32_t version, size_t id)
{
	const unsigned char *p = git_index_peek(r, STAT + id + 2);
	size_t head = STAT + id + 2;
	unsigned flags = p ? (unsigned)p[head - 2] << 8 | p[head - 1] : 0, length = flags & LENGTH;

	if (!p || (flags & EXTENDED) || version > 3 || !length || length == LENGTH)
		return take_entry(r, version, id);
	p = git_index_take(r, head + length + 8 - (head + length) % 8);
	return p && !p[head + length] && !memchr(p + head, '\0', length);
}

/* Invisible characters, which HFS+ ignores when it compares names. */
static bool is_ignored_by_hfs(struct str s)
{
	static const char *const first[] = { "\u200c", "\u202a", "\u206a", "\ufeff" };
	static const unsigned char count[] = { 4, 5, 6, 1 };
	enum { SIZE = 3 };

	for (size_t i = 0; s.n >= SIZE && i < sizeof count; i++)
		if (!memcmp(s.p, first[i], SIZE - 1) &&
		    (unsigned char)(s.p[SIZE - 1] - first[i][SIZE - 1]) < count[i])
			return true;
	return false;
}

/* Takes the next character of a name, folded as case-insensitive file systems do; 0: the end. */
static int git_index_fold(struct str *rest)
{
	int ch;

	while (is_ignored_by_hfs(*rest))
		*rest = str_skip(*rest, 3);
	if (str_starts(*rest, STR("\u017f"))) { /* a long s; no other such letter is in our names */
		*rest = str_skip(*rest, 2);
		return 's';
	}
	if (!rest->n)
		return 0;
	ch = (unsigned char)rest->p[0];
	*rest = str_skip(*rest, 1);
	return ch >= 'A' && ch <= 'Z' ? ch - 'A' + 'a' : ch;
}

/* Like path_within(), but for a file system that folds case. */
static bool git_index_is_within(struct str dir, struct str path)
{
	int a, b;

	do {
		a = git_index_fold(&dir);
		b = git_index_fold(&path);
	} while (a && a == b);
	return !a && (!b || b == '/');
}

enum tracked git_entry_covers(struct git_entry entry, struct str name)
{
	struct str path = entry.path;

	if (entry.folder && path.n && path.p[path.n - 1] == '/')
		path.n--;
	return git_index_is_within(name, path)                 ? TRACKED_YES :
	       entry.folder && git_index_is_within(path, name) ? TRACKED_ABOVE :
								 TRACKED_NO;
}

/*
 * Is the entry sorted after every possible match? Among all spellings of a name, the one in lower
 * case is sorted last.
 */
static bool is_past(struct str name, const unsigned char *entry, size_t n)
{
	for (size_t i = 0; i < name.n && i < n; i++) {
		unsigned char ch = (unsigned char)name.p[i];

		if (ch >= 'A' && ch <= 'Z')
			ch = (unsigned char)(ch - 'A' + 'a');
		if (entry[i] != ch)
			return entry[i] > ch;
	}
	return n > name.n && entry[name.n] > '/';
}

static void git_index_skip(struct git_index_reader *r, uint32_t n)
{
	if (n <= r->held) {
		r->at += n;
		r->held -= n;
		return;
	}
	r->next += (off_t)(n - r->held);
	r->at = r->held = r->begun = 0;
}

/*
 * Looks for the "link" extension after the entries, which names another file with entries. The file
 * ends with a checksum as long as an object id.
 */
static enum tracked look_for_link(struct git_index_reader *r, size_t id)
{
	const unsigned char *p;

	while ((p = git_index_peek(r, 8 + id))) {
		if (!memcmp(p, "link", 4))
			return TRACKED_SPLIT;
		git_index_skip(r, 8);
		git_index_skip(r, git_index_number(p + 4));
	}
	return r->held == id ? TRACKED_NO : TRACKED_UNKNOWN;
}

/* Searches the index, assuming object ids of `id` bytes. */
static enum tracked look_with(struct git_index_reader *r, struct str name, size_t id)
{
	const unsigned char *p;
	uint32_t version, count;
	struct git_entry entry;
	enum tracked tracked;
	bool past = false;

	r->at = r->before = 0;
	r->held = r->begun;
	r->next = (off_t)r->begun;
	if (!(p = git_index_take(r, 12)) || memcmp(p, "DIRC", 4) != 0)
		return TRACKED_UNKNOWN;
	version = git_index_number(p + 4);
	if (version < 2 || version > 4)
		return TRACKED_UNKNOWN;
	for (count = git_index_number(p + 8); count; count--) {
		if (past ? !skip_entry(r, version, id) : !take_entry(r, version, id))
			return TRACKED_UNKNOWN;
		if (!r->before) /* the shared index has the name */
			return TRACKED_SPLIT;
		if (past)
			continue;
		entry = (struct git_entry){ { (const char *)r->name, r->before }, r->folder };
		if ((tracked = git_entry_covers(entry, name)) != TRACKED_NO)
			return tracked;
		past = is_past(name, r->name, r->before);
		if (past && count > SHORT)
			return TRACKED_EARLY;
	}
	return look_for_link(r, id);
}

static bool is_found(enum tracked tracked)
{
	return tracked == TRACKED_YES || tracked == TRACKED_ABOVE;
}

/*
 * The file does not say how long its object ids are. With the wrong length the file is almost
 * certainly invalid, so both lengths are tried, and a result of either counts.
 */
enum tracked git_index_look(struct arena *mem, struct str index, struct str name)
{
	enum { SHA1 = 20, SHA256 = 32 };
	struct git_index_reader *r;
	enum tracked first, second;
	struct stat st;
	AUTO_FD fd = open(arena_cstr(mem, index), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? TRACKED_ABSENT : TRACKED_UNKNOWN;
	if (fstat(fd, &st))
		return TRACKED_UNKNOWN;
	r = arena_new(mem, struct git_index_reader);
	r->fd = fd;
	r->size = st.st_size;
	r->room = st.st_size < BLOCK ? (size_t)st.st_size : BLOCK;
	r->block = (unsigned char *)arena_text(mem, r->room);
	first = look_with(r, name, SHA1);
	second = is_found(first) ? first : look_with(r, name, SHA256);
	return is_found(second) || first == TRACKED_UNKNOWN ? second : first;
}
