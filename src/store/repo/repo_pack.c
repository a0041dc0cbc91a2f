#include <fcntl.h>
#include <git2/sys/odb_backend.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/system/fault.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "store/repo/repo_parts.h"

static enum err repo_pack_fail(struct call *c, struct str of)
{
	return repo_fail(c, ERR_INTERNAL_ERROR, "pack", of);
}

/* Walks from `commit` back to `before`, exclusive. */
static int repo_pack_walk_from(struct repo *r, struct str commit, struct str before,
			       git_revwalk **out)
{
	git_oid oid;
	int code = git_revwalk_new(out, repo_git(r));

	if (!code && !(code = git_oid_fromstrn(&oid, commit.p, commit.n)))
		code = git_revwalk_push(*out, &oid);
	if (!code && before.p && !(code = git_oid_fromstrn(&oid, before.p, before.n)))
		code = git_revwalk_hide(*out, &oid);
	return code;
}

enum err repo_pack(struct call *c, struct repo *r, struct str commit, struct str before,
		   struct str *pack)
{
	git_packbuilder *pb = NULL;
	git_revwalk *walk = NULL;
	enum err e = ERR_OK;

	fault_point();
	if (git_packbuilder_new(&pb, repo_git(r)) ||
	    repo_pack_walk_from(r, commit, before, &walk) ||
	    git_packbuilder_insert_walk(pb, walk) || git_packbuilder_write(pb, NULL, 0, NULL, NULL))
		e = repo_pack_fail(c, commit);
	else
		*pack = arena_copy(&c->mem, str_of(git_packbuilder_name(pb)));
	git_revwalk_free(walk);
	git_packbuilder_free(pb);
	return e;
}

/* --- loose objects and packs --- */

struct str repo_objects(struct call *c, struct repo *r)
{
	return path_join(&c->mem, str_of(git_repository_commondir(repo_git(r))), STR("objects"));
}

/* The objects of one pack alone; close them with git_odb_free(). */
static enum err pack_objects(struct call *c, struct repo *r, struct str pack, git_odb **out)
{
	struct str index = arena_fmt(&c->mem, STR_FMT "/pack/pack-" STR_FMT ".idx",
				     STR_ARG(repo_objects(c, r)), STR_ARG(pack));
	git_odb_backend *backend = NULL;

	*out = NULL;
	if (!git_odb_new(out) && !git_odb_backend_one_pack(&backend, arena_cstr(&c->mem, index)) &&
	    !git_odb_add_backend(*out, backend, 1))
		return ERR_OK;
	git_odb_free(*out);
	*out = NULL;
	return repo_fail(c, ERR_INTERNAL_ERROR, "read", index);
}

/* For removing the loose copies of objects that a pack has. */
struct tidying {
	struct call *c;
	struct repo *r;
	struct str dir;
	git_odb *packed;
};

static void remove_loose(const struct tidying *t, const git_oid *oid)
{
	char name[GIT_OID_HEXSZ + 1];

	if (!git_odb_exists(t->packed, oid))
		return;
	git_oid_tostr(name, sizeof name, oid);
	fault_point();
	file_remove(t->c,
		    arena_fmt(&t->c->mem, STR_FMT "/%.2s/%s", STR_ARG(t->dir), name, name + 2));
	call_forgive(t->c); /* a leftover object only takes up space */
}

static int tidy_commit(const struct tidying *t, const git_oid *oid)
{
	git_commit *commit = NULL;
	git_tree *tree = NULL;
	int code = git_commit_lookup(&commit, repo_git(t->r), oid);

	if (!code)
		code = git_commit_tree(&tree, commit);
	for (size_t i = 0; !code && i < git_tree_entrycount(tree); i++)
		remove_loose(t, git_tree_entry_id(git_tree_entry_byindex(tree, i)));
	if (!code) {
		remove_loose(t, git_tree_id(tree));
		remove_loose(t, oid);
	}
	git_tree_free(tree);
	git_commit_free(commit);
	return code;
}

enum err repo_tidy(struct call *c, struct repo *r, struct str commit, struct str before,
		   struct str pack)
{
	struct tidying t = { .c = c, .r = r, .dir = repo_objects(c, r) };
	git_revwalk *walk = NULL;
	git_oid oid;
	enum err e = pack_objects(c, r, pack, &t.packed);
	int code = e ? 0 : repo_pack_walk_from(r, commit, before, &walk);

	while (!e && !code && !git_revwalk_next(&oid, walk))
		code = tidy_commit(&t, &oid);
	git_revwalk_free(walk);
	git_odb_free(t.packed);
	return code ? repo_pack_fail(c, commit) : e;
}

/* Stops at the first object that is not among the others. */
static int is_elsewhere(const git_oid *oid, void *others)
{
	return git_odb_exists(others, oid) ? 0 : -1;
}

static enum err remove_pack(struct call *c, struct repo *r, struct str pack)
{
	/* the index first: without it, Git ignores the pack */
	static const char *const parts[] = { "idx", "rev", "pack" };
	struct str dir = repo_objects(c, r);
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < sizeof parts / sizeof *parts; i++) {
		fault_point();
		e = file_remove(c, arena_fmt(&c->mem, STR_FMT "/pack/pack-" STR_FMT ".%s",
					     STR_ARG(dir), STR_ARG(pack), parts[i]));
	}
	return e;
}

enum err repo_replace_pack(struct call *c, struct repo *r, struct str old, struct str pack)
{
	git_odb *was = NULL, *is = NULL;
	git_oid name;
	bool whole = false;
	enum err e;

	if (!repo_oid_of(old, &name) || str_eq(old, pack))
		return ERR_OK;
	e = pack_objects(c, r, pack, &is);
	if (!e && pack_objects(c, r, old, &was))
		call_forgive(c); /* it is gone already */
	else if (!e)
		whole = !git_odb_foreach(was, is_elsewhere, is);
	git_odb_free(was);
	git_odb_free(is);
	return whole ? remove_pack(c, r, old) : e;
}

/* --- temporary files of dead processes --- */

struct repo_pack_leftovers {
	struct call *c;
	struct str dir, start; /* prefix of the names of temporary files */
};

static void repo_pack_remove_leftover(void *arg, struct str name)
{
	enum { DAY_S = 24 * 60 * 60 };
	struct repo_pack_leftovers *l = arg;
	const char *path = arena_cstr(&l->c->mem, path_join(&l->c->mem, l->dir, name));
	struct stat st;

	if (str_starts(name, l->start) && !lstat(path, &st) && S_ISREG(st.st_mode) &&
	    moment_now() / 1000 - (int64_t)st.st_mtime > DAY_S)
		unlink(path);
}

void repo_sweep_objects(struct call *c, struct repo *r)
{
	struct str dir = repo_objects(c, r);
	struct repo_pack_leftovers loose = { c, dir, STR("tmp_object_git2_") },
				   packs = { c, path_join(&c->mem, dir, STR("pack")),
					     STR("pack_git2_") };
	struct call before = call_save(c);

	file_each(c, loose.dir, repo_pack_remove_leftover, &loose);
	file_each(c, packs.dir, repo_pack_remove_leftover, &packs);
	call_restore(c, &before); /* leftover files only take up space */
}

/* --- packs that cannot be read --- */

struct repo_pack_reading {
	struct call *c;
	struct str dir;
	enum err e;
};

static void repo_pack_read_one(void *arg, struct str name)
{
	struct repo_pack_reading *p = arg;
	struct str path = path_join(&p->c->mem, p->dir, name);
	char byte;

	if (p->e || (!str_ends(name, STR(".pack")) && !str_ends(name, STR(".idx"))))
		return;
	AUTO_FD fd = open(arena_cstr(&p->c->mem, path), O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 ? !file_missing() : file_some(fd, &byte, 1) < 0)
		p->e = file_fail(p->c, "read", path);
}

enum err repo_check_packs(struct call *c, struct repo *r)
{
	struct repo_pack_reading p = { c, path_join(&c->mem, repo_objects(c, r), STR("pack")), 0 };
	enum err e = file_each(c, p.dir, repo_pack_read_one, &p);

	return p.e ? p.e : e;
}
