/*
 * Reads loose objects. libgit2 never returns from one whose file is cut off, as after a power
 * failure, and opens whatever is in the place of the file. So libgit2 gets a reader that it asks
 * before its own one.
 */
#include <errno.h>
#include <fcntl.h>
#include <git2/sys/odb_backend.h>
#if __has_include(<git2/sys/errors.h>) /* has git_error_set_str() since libgit2 1.8 */
#include <git2/sys/errors.h>
#endif
#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/number.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "store/repo/repo_parts.h"

enum {
	HEADER_MOST = 64,      /* bytes of "blob 123", as in Git */
	CHUNK = 16 << 10,      /* bytes read at once */
	PIECE_MOST = 1 << 30,  /* bytes inflated at once; zlib counts them in an unsigned int */
	ALTERNATES_DEPTH = 5,  /* as in libgit2 */
	ALTERNATES_MOST = 100, /* folders in all */
};

struct loose {
	git_odb_backend parent;
	struct str *folder; /* folders of objects */
	size_t count;
	struct repo *repo; /* is told of a damaged file */
	struct arena *mem;
};

/* The file of an object while it is read. */
struct loose_file {
	struct arena mem; /* has the path */
	struct str path;
	int fd;
	z_stream z;
	bool ended;
	char in[CHUNK];
	char header[HEADER_MOST];
	size_t body;  /* where the content begins in `header` */
	size_t ahead; /* bytes of it there */
	size_t size;
	git_object_t type;
};

static int loose_fail(const char *why)
{
	git_error_set_str(GIT_ERROR_ODB, why);
	return GIT_ERROR;
}

static int loose_fail_to_read(void)
{
	git_error_set_str(GIT_ERROR_OS, strerror(errno));
	return GIT_ERROR;
}

/* --- the file --- */

static int loose_open(const struct loose *l, const git_oid *oid, struct loose_file *f)
{
	char hex[GIT_OID_HEXSZ + 1];

	git_oid_tostr(hex, sizeof hex, oid);
	*f = (struct loose_file){ .fd = -1 };
	errno = ENOENT;
	for (size_t i = 0; f->fd < 0 && file_missing() && i < l->count; i++) {
		f->path =
			arena_fmt(&f->mem, STR_FMT "/%.2s/%s", STR_ARG(l->folder[i]), hex, hex + 2);
		f->fd = open(f->path.p, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	}
	if (f->fd >= 0)
		return GIT_OK;
	return file_missing() ? GIT_ENOTFOUND : loose_fail_to_read();
}

/* A file that was opened and is not a whole object is damaged, unless the disk failed. */
static int loose_close(const struct loose *l, struct loose_file *f, int code)
{
	if (code && f->fd >= 0 && !repo_error_is(GIT_ERROR_OS)) {
		l->repo->damaged = arena_copy(l->mem, f->path);
		l->repo->damage = arena_copy(l->mem, str_of(repo_error_text()));
	}
	if (f->fd >= 0)
		close(f->fd);
	inflateEnd(&f->z);
	arena_release(&f->mem);
	return code;
}

/* Inflates up to `size` bytes: less only at the end of the object. */
static int loose_inflate(struct loose_file *f, char *out, size_t size, size_t *got)
{
	for (*got = 0; *got < size && !f->ended;) {
		size_t piece = size - *got < PIECE_MOST ? size - *got : PIECE_MOST;
		ssize_t n = f->z.avail_in ? 1 : file_some(f->fd, f->in, sizeof f->in);
		int code;

		if (n <= 0)
			return n ? loose_fail_to_read() : loose_fail("its file is cut off");
		if (!f->z.avail_in) {
			f->z.next_in = (unsigned char *)f->in;
			f->z.avail_in = (uInt)n;
		}
		f->z.next_out = (unsigned char *)out + *got;
		f->z.avail_out = (uInt)piece;
		code = inflate(&f->z, Z_NO_FLUSH);
		if (code != Z_OK && code != Z_STREAM_END)
			return loose_fail("its file is damaged");
		*got += piece - f->z.avail_out;
		f->ended = code == Z_STREAM_END;
	}
	return GIT_OK;
}

/* A header is "blob 123" and a zero byte. */
static int loose_read_start(struct loose_file *f)
{
	size_t got;
	const char *end;
	struct str text, word;
	struct stat st;
	int64_t size;

	if (fstat(f->fd, &st) || !S_ISREG(st.st_mode))
		return loose_fail("what is in its place is not a file");
	if (inflateInit(&f->z) != Z_OK)
		return loose_fail("zlib has no memory");
	if (loose_inflate(f, f->header, sizeof f->header, &got))
		return GIT_ERROR;
	if (!(end = memchr(f->header, 0, got)))
		return loose_fail("it has no header");
	text = (struct str){ f->header, (size_t)(end - f->header) };
	f->body = text.n + 1;
	f->ahead = got - f->body;
	if (!str_next(&text, ' ', &word) || !number_int(text, &size) || size < 0)
		return loose_fail("its header is damaged");
	f->type = str_is(word, "blob")   ? GIT_OBJECT_BLOB :
		  str_is(word, "tree")   ? GIT_OBJECT_TREE :
		  str_is(word, "commit") ? GIT_OBJECT_COMMIT :
		  str_is(word, "tag")    ? GIT_OBJECT_TAG :
					   GIT_OBJECT_INVALID;
	f->size = (size_t)size;
	if (f->type == GIT_OBJECT_INVALID || f->ahead > f->size)
		return loose_fail("its header is damaged");
	return GIT_OK;
}

/* The content has as many bytes as the header says, and the file ends with it. */
static int loose_read_body(struct loose_file *f, char *out)
{
	char more;
	size_t got;

	memcpy(out, f->header + f->body, f->ahead);
	if (loose_inflate(f, out + f->ahead, f->size - f->ahead, &got))
		return GIT_ERROR;
	if (got < f->size - f->ahead)
		return loose_fail("it has less content than its header says");
	if (loose_inflate(f, &more, 1, &got))
		return GIT_ERROR;
	return got ? loose_fail("it has more content than its header says") : GIT_OK;
}

/* --- what libgit2 calls --- */

static int loose_read_header(size_t *size, git_object_t *type, git_odb_backend *backend,
			     const git_oid *oid)
{
	const struct loose *l = (struct loose *)backend;
	struct loose_file f;
	int code = loose_open(l, oid, &f);

	if (!code && !(code = loose_read_start(&f))) {
		*size = f.size;
		*type = f.type;
	}
	return loose_close(l, &f, code);
}

/* libgit2 expects a zero byte behind the content. */
static int loose_read(void **out, size_t *size, git_object_t *type, git_odb_backend *backend,
		      const git_oid *oid)
{
	const struct loose *l = (struct loose *)backend;
	struct loose_file f;
	char *data = NULL;
	int code = loose_open(l, oid, &f);

	if (!code && !(code = loose_read_start(&f)) &&
	    !(data = git_odb_backend_data_alloc(backend, f.size + 1)))
		code = loose_fail_to_read();
	if (!code && !(code = loose_read_body(&f, data))) {
		data[f.size] = 0;
		*out = data;
		*size = f.size;
		*type = f.type;
	} else if (data)
		git_odb_backend_data_free(backend, data);
	return loose_close(l, &f, code);
}

static int loose_each(git_odb_backend *backend, git_odb_foreach_cb visit, void *arg)
{
	(void)backend, (void)visit, (void)arg;
	return GIT_OK; /* libgit2's own reader lists the objects */
}

static void loose_free(git_odb_backend *backend)
{
	(void)backend; /* it is in an arena */
}

/* --- the folders --- */

static void loose_add_folder(struct call *c, struct loose *l, struct str folder, int depth)
{
	struct str text, line;

	if (l->count == ALTERNATES_MOST)
		return;
	l->folder[l->count++] = folder;
	if (depth == ALTERNATES_DEPTH ||
	    file_read_regular(c, path_join(&c->mem, folder, STR("info/alternates")), &text)) {
		call_forgive(c); /* libgit2 reports it */
		return;
	}
	while (text.p && str_next(&text, '\n', &line))
		if (line.n && line.p[0] != '#')
			loose_add_folder(c, l, path_resolve(&c->mem, folder, line), depth + 1);
}

int repo_loose_add(struct call *c, struct repo *r, git_odb *odb, const struct str *objects,
		   size_t count)
{
	enum { PRIORITY = 2 }; /* as packs, which come before it; loose objects of libgit2 have 1 */
	struct loose *l = arena_new(&c->mem, struct loose);
	int code = git_odb_init_backend(&l->parent, GIT_ODB_BACKEND_VERSION);

	if (code)
		return code;
	l->repo = r;
	l->mem = &c->mem;
	l->parent.read = loose_read;
	l->parent.read_header = loose_read_header;
	l->parent.foreach = loose_each;
	l->parent.free = loose_free;
	l->folder = arena_array(&c->mem, ALTERNATES_MOST, sizeof *l->folder);
	for (size_t i = 0; i < count; i++)
		loose_add_folder(c, l, objects[i], 0);
	return git_odb_add_backend(odb, &l->parent, PRIORITY);
}

enum err repo_check_loose(struct call *c, const struct repo *r)
{
	if (!r->damaged.p || r->elsewhere)
		return ERR_OK;
	call_fail(c, ERR_DAMAGED, "'" STR_FMT "', which has an object of Git, is damaged: " STR_FMT,
		  STR_ARG(r->damaged), STR_ARG(r->damage));
	return call_step(c, "Nothing was changed. Run 'bd repair --apply' to get the object from "
			    "the remote again.");
}

enum err repo_set_aside_loose(struct call *c, const struct repo *r)
{
	struct str aside;

	if (c->code != ERR_DAMAGED || !r->damaged.p)
		return c->code;
	aside = path_unused(&c->mem, r->damaged, "damaged");
	return call_step(c,
			 "Nothing was changed. The remote does not have the object. Move it away, "
			 "then run the command again: mv " STR_FMT " " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, r->damaged)),
			 STR_ARG(spawn_word(&c->mem, aside)));
}
