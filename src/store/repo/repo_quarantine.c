/*
 * Objects from a remote stay in a quarantine folder, apart from the user's objects, until they are
 * checked. `git fsck` and `git gc` read every object of a repository, whether or not a ref leads to
 * it, so malformed objects must not get there at all. A killed fetch leaves its partial pack in the
 * same folder, and the next fetch removes it.
 *
 * The folder's name is one that `git prune` recognizes as temporary.
 */
#include <git2/sys/repository.h>
#include <stdio.h>

#include "base/system/fault.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "store/repo/repo_parts.h"

static struct str repo_quarantine_folder(struct call *c, struct repo *r)
{
	return path_join(&c->mem, repo_objects(c, r), STR("tmp_objdir-abacus"));
}

static enum err repo_quarantine_fail(struct call *c, struct repo *r, const char *what)
{
	return repo_fail(c, ERR_INTERNAL_ERROR, what, repo_quarantine_folder(c, r));
}

void repo_sweep_fetched(struct call *c, struct repo *r)
{
	struct call before = call_save(c);

	file_remove_tree(c, repo_quarantine_folder(c, r));
	call_restore(c, &before); /* the next fetch reports the error */
}

/* The objects in the quarantine. They are read first: libgit2 gives those of a repository, which is
 * an alternate here, the priority 2. */
static int repo_quarantine_objects(struct call *c, struct repo *r, struct str folder, git_odb **out)
{
	enum { LEVEL_DEFAULT = -1, FIRST = 5, SECOND = 4 };
	const char *path = arena_cstr(&c->mem, folder);
	git_odb_backend *loose = NULL, *packs = NULL;
	int code = git_odb_new(out);

	if (!code && !(code = git_odb_backend_pack(&packs, path)))
		code = git_odb_add_backend(*out, packs, FIRST);
	if (!code && !(code = git_odb_backend_loose(&loose, path, LEVEL_DEFAULT, 0, 0, 0)))
		code = git_odb_add_backend(*out, loose, SECOND);
	return code ? code : repo_loose_add(c, r, *out, &folder, 1);
}

/* Makes the objects of the user's repository readable as well. */
static int repo_quarantine_show_own(struct call *c, struct repo *r, git_odb *apart)
{
	struct str own = repo_objects(c, r);
	int code = git_odb_add_disk_alternate(apart, arena_cstr(&c->mem, own));

	return code ? code : repo_loose_add(c, r, apart, &own, 1);
}

static enum err repo_quarantine_open(struct call *c, struct repo *r,
				     const struct str haves[REPO_HAVES], bool whole)
{
	struct str folder = repo_quarantine_folder(c, r);
	git_odb *apart = NULL;
	enum err e;

	fault_point();
	if ((e = file_remove_tree(c, folder)) ||
	    (e = file_make_dir(c, path_join(&c->mem, folder, STR("pack")), 0700)))
		return e;
	if (repo_quarantine_objects(c, r, folder, &apart) ||
	    (!whole && repo_quarantine_show_own(c, r, apart)) ||
	    git_repository_set_odb(r->git, apart)) {
		git_odb_free(apart);
		return repo_quarantine_fail(c, r, "use the folder");
	}
	for (size_t i = 0; i < REPO_HAVES; i++)
		r->haves[i] = haves[i];
	r->left_out = (struct map){ .mem = &c->mem };
	r->beside = 0;
	r->own = r->odb;
	r->odb = apart;
	r->call = c;
	return ERR_OK;
}

enum err repo_quarantine_begin(struct call *c, struct repo *r, const struct str haves[REPO_HAVES])
{
	return r->own ? ERR_OK : repo_quarantine_open(c, r, haves, false);
}

enum err repo_quarantine_begin_whole(struct call *c, struct repo *r)
{
	const struct str none[REPO_HAVES] = { 0 };

	repo_quarantine_drop(r);
	return repo_quarantine_open(c, r, none, true);
}

enum err repo_quarantine_end_whole(struct call *c, struct repo *r)
{
	/* what was fetched has to be known before a damaged object of the user is found */
	if (git_odb_refresh(r->odb) || repo_quarantine_show_own(c, r, r->odb))
		return repo_quarantine_fail(c, r, "read what is in");
	r->damaged = STR_NONE;
	return ERR_OK;
}

void repo_quarantine_drop(struct repo *r)
{
	if (!r->own)
		return;
	git_repository_set_odb(r->git, r->own);
	git_odb_free(r->odb);
	r->odb = r->own;
	r->own = NULL;
	r->left_out = (struct map){ 0 };
	repo_sweep_fetched(r->call, r);
}

/* --- moving objects out of the quarantine --- */

struct repo_quarantine_count {
	git_odb *own; /* NULL: all objects count */
	size_t new;
};

static int repo_quarantine_count_one(const git_oid *oid, void *arg)
{
	struct repo_quarantine_count *n = arg;

	/* a pack also contains the bases of its deltas, which may be known */
	n->new += !n->own || !git_odb_exists_ext(n->own, oid, GIT_ODB_LOOKUP_NO_REFRESH);
	return 0;
}

static void repo_quarantine_see(void *only_packs, struct str name)
{
	*(bool *)only_packs = *(bool *)only_packs && str_is(name, "pack");
}

/*
 * The number of objects in the quarantine that the user's repository lacks or, of a whole history, of
 * all; 0: unknown, or there are loose objects, which were written after the fetch.
 */
static size_t repo_quarantine_new_objects(struct call *c, struct repo *r, bool whole)
{
	struct repo_quarantine_count n = { .own = whole ? NULL : r->own };
	struct str folder = repo_quarantine_folder(c, r);
	git_odb_backend *packs = NULL;
	git_odb *alone = NULL;
	bool only_packs = true;
	int code = git_odb_new(&alone);

	if (file_each(c, folder, repo_quarantine_see, &only_packs) || !only_packs) {
		call_forgive(c);
		code = -1;
	}
	if (!code && !(code = git_odb_backend_pack(&packs, arena_cstr(&c->mem, folder))) &&
	    !(code = git_odb_add_backend(alone, packs, 1)))
		code = git_odb_foreach(alone, repo_quarantine_count_one, &n);
	git_odb_free(alone);
	return code ? 0 : n.new;
}

struct repo_quarantine_moving {
	struct call *c;
	struct str from, to;
	const char *suffix;
	enum err failed;
};

static void repo_quarantine_move_one(void *arg, struct str name)
{
	struct repo_quarantine_moving *m = arg;
	struct arena *mem = &m->c->mem;
	struct str to = path_join(mem, m->to, name);

	if (m->failed || !str_starts(name, STR("pack-")) || !str_ends(name, str_of(m->suffix)))
		return;
	fault_point();
	if (rename(arena_cstr(mem, path_join(mem, m->from, name)), arena_cstr(mem, to)))
		m->failed = file_fail(m->c, "write", to);
}

/* The indexes are moved last: Git ignores a pack without an index. */
static enum err repo_quarantine_move_packs(struct call *c, struct repo *r)
{
	static const char *const suffixes[] = { ".pack", ".rev", ".idx" };
	struct str pack = STR("pack");
	struct repo_quarantine_moving m = { .c = c,
					    .from = path_join(&c->mem, repo_quarantine_folder(c, r),
							      pack),
					    .to = path_join(&c->mem, repo_objects(c, r), pack) };
	enum err e = file_make_dir(c, m.to, 0777);

	for (size_t i = 0; !e && i < sizeof suffixes / sizeof *suffixes; i++) {
		m.suffix = suffixes[i];
		if (!(e = file_each(c, m.from, repo_quarantine_move_one, &m)))
			e = m.failed;
	}
	return e ? e : file_sync_dir(c, path_join(&c->mem, m.to, pack));
}

/* Opens the objects again, because libgit2 goes on to read from the pack that it used last. */
static int repo_quarantine_reopen(struct call *c, struct repo *r)
{
	struct str own = repo_objects(c, r);
	git_odb *fresh = NULL;
	int code = git_odb_open(&fresh, arena_cstr(&c->mem, own));

	if (!code && !(code = repo_loose_add(c, r, fresh, &own, 1)))
		code = git_repository_set_odb(r->git, fresh);
	if (code) {
		git_odb_free(fresh);
		return code;
	}
	git_odb_free(r->odb);
	r->odb = fresh;
	return 0;
}

/*
 * The packs are moved as they are only if every object in them is needed: a server may have sent
 * unchecked objects, which no commit leads to. Otherwise the needed objects are copied.
 */
static enum err repo_quarantine_take(struct call *c, struct repo *r, struct str commit, bool whole)
{
	size_t new;
	bool all;
	enum err e = ERR_OK;

	if (!r->own)
		return ERR_OK;
	git_error_clear();
	new = repo_quarantine_new_objects(c, r, whole);
	if (repo_copy_objects(r->git, r->own, commit, r->haves, REPO_HAVES, new, whole, &all))
		return repo_quarantine_fail(c, r, "take over what is in");
	if (all)
		e = repo_quarantine_move_packs(c, r);
	repo_quarantine_drop(r);
	if (!e && (whole ? repo_quarantine_reopen(c, r) : git_odb_refresh(r->odb)))
		e = repo_quarantine_fail(c, r, "read what was in");
	return e;
}

enum err repo_quarantine_admit(struct call *c, struct repo *r, struct str commit)
{
	return repo_quarantine_take(c, r, commit, false);
}

enum err repo_quarantine_admit_whole(struct call *c, struct repo *r, struct str commit)
{
	return repo_quarantine_take(c, r, commit, true);
}
