/* The logs of machines: their objects, and their refs at the remote. */
#include "store/repo/repo_logs.h"

#include <git2/sys/odb_backend.h>
#include <git2/sys/repository.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/system/fault.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "store/folder.h"
#include "store/repo/repo_remote_parts.h"

/* A folder of objects that leads elsewhere would be written to, and its files removed. */
static enum err logs_check(struct call *c, struct str folder)
{
	enum err e = folder_check(c, folder, FOLDER_READ);

	return e ? e : folder_check_inside(c, folder);
}

/* Unlike git_odb_open(), without objects of the folders that `info/alternates` names. */
static int logs_objects(struct call *c, struct repo *r, struct str folder, git_odb **out)
{
	enum { LEVEL_DEFAULT = -1, FIRST = 2, SECOND = 1 };
	const char *path = arena_cstr(&c->mem, folder);
	git_odb_backend *loose = NULL, *packs = NULL;
	int code = git_odb_new(out);

	if (!code && !(code = git_odb_backend_loose(&loose, path, LEVEL_DEFAULT, 0, 0, 0)))
		code = git_odb_add_backend(*out, loose, FIRST);
	if (!code && !(code = git_odb_backend_pack(&packs, path)))
		code = git_odb_add_backend(*out, packs, SECOND);
	return code ? code : repo_loose_add(c, r, *out, &folder, 1);
}

enum err logs_open(struct call *c, struct str gitdir, struct str folder, struct repo **out)
{
	git_odb *apart = NULL;
	enum err e;

	umask(077); /* unlike the objects of a repository, these are never shared */
	if ((e = logs_check(c, folder)) ||
	    (e = file_make_dir(c, path_join(&c->mem, folder, STR("pack")), 0700)) ||
	    (e = repo_open(c, gitdir, out)))
		return e;
	if (logs_objects(c, *out, folder, &apart) || git_repository_set_odb((*out)->git, apart)) {
		git_odb_free(apart);
		repo_close(*out);
		*out = NULL;
		return repo_fail(c, ERR_INTERNAL_ERROR, "use the folder", folder);
	}
	git_odb_free((*out)->odb);
	(*out)->odb = apart;
	return ERR_OK;
}

/* --- listing --- */

static void logs_add_head(struct call *c, struct log_fetch *f, const char *name, const git_oid *oid)
{
	struct log_head *head;

	if (f->count == f->most)
		return;
	f->head = arena_room(&c->mem, f->head, f->count, sizeof *f->head);
	head = &f->head[f->count];
	*head = (struct log_head){ .ref = arena_copy(&c->mem, str_of(name)),
				   .commit = repo_hex(&c->mem, oid) };
	if (f->wants)
		f->wants(f->arg, head);
	f->count += !head->left_out;
}

static enum err logs_list_folder(struct call *c, struct log_fetch *f)
{
	struct str *names;
	size_t count;
	git_oid oid;
	enum err e = repo_refs_below(c, f->there, f->prefix, &names, &count);

	for (size_t i = 0; !e && i < count; i++)
		if (!git_reference_name_to_id(&oid, repo_git(f->there),
					      arena_cstr(&c->mem, names[i])))
			logs_add_head(c, f, arena_cstr(&c->mem, names[i]), &oid);
	return e;
}

static enum err logs_list_wire(struct call *c, struct remote *m, git_remote *remote,
			       struct log_fetch *f)
{
	const git_remote_head **heads;
	size_t count;
	int code = git_remote_ls(&heads, &count, remote);

	if (code)
		return remote_unreachable(c, m, code, "list the refs of");
	for (size_t i = 0; i < count; i++)
		if (str_starts(str_of(heads[i]->name), f->prefix))
			logs_add_head(c, f, heads[i]->name, &heads[i]->oid);
	return ERR_OK;
}

/* --- fetching --- */

static int logs_progress(const git_indexer_progress *progress, void *arg)
{
	struct talk *t = arg;

	return t->bytes_most && (int64_t)progress->received_bytes > t->bytes_most ? -1 : 0;
}

/* `only` is the one ref to fetch; NULL: all that are wanted. */
static int logs_download(struct call *c, struct remote *m, git_remote *remote,
			 git_remote_callbacks *calls, struct log_fetch *f,
			 const struct log_head *only)
{
	git_repository *git = repo_git(m->repo);
	char **spec = arena_array(&c->mem, f->count + 1, sizeof *spec);
	git_strarray specs = { spec, 0 };
	git_refdb *refs = NULL;
	git_fetch_options options;
	int code;

	for (size_t i = 0; i < f->count; i++)
		if (f->head[i].wanted && (!only || only == &f->head[i]))
			spec[specs.count++] = (char *)arena_cstr(&c->mem, f->head[i].ref);
	if (!specs.count)
		return 0;
	git_fetch_options_init(&options, GIT_FETCH_OPTIONS_VERSION);
	options.callbacks = *calls;
	options.update_fetchhead = 0;
	options.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE;
	fault_point();
	if (f->about)
		f->about(f->arg, only, false);
	if (!(code = repo_show_only(git, f->haves, f->have_count, &refs)))
		code = git_remote_download(remote, &specs, &options);
	repo_show_all(git, refs);
	if (f->about)
		f->about(f->arg, only, true);
	return code;
}

/* A log that cannot be fetched must not keep the others from being fetched. */
static enum err logs_download_singly(struct call *c, struct remote *m, git_remote_callbacks *calls,
				     struct log_fetch *f)
{
	git_remote *remote = NULL;
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < f->count; i++) {
		if (!f->head[i].wanted)
			continue;
		if ((e = remote_connect(c, m, GIT_DIRECTION_FETCH, calls, &remote)))
			break;
		f->head[i].failed = logs_download(c, m, remote, calls, f, &f->head[i]) ||
				    !repo_has(m->repo, f->head[i].commit);
		git_remote_disconnect(remote);
		git_remote_free(remote);
	}
	return e;
}

static enum err logs_fetch_wire(struct call *c, struct remote *m, struct log_fetch *f)
{
	struct talk t = { .c = c, .remote = m, .said.mem = &c->mem, .bytes_most = f->bytes_most };
	git_remote_callbacks calls = remote_callbacks(&t);
	git_remote *remote = NULL;
	int code = 0;
	enum err e;

	calls.transfer_progress = logs_progress;
	if ((e = remote_connect(c, m, GIT_DIRECTION_FETCH, &calls, &remote)))
		return e;
	if (!(e = logs_list_wire(c, m, remote, f)) && !f->singly)
		code = logs_download(c, m, remote, &calls, f, NULL);
	git_remote_disconnect(remote);
	git_remote_free(remote);
	return !e && (code || f->singly) ? logs_download_singly(c, m, &calls, f) : e;
}

enum err logs_fetch(struct call *c, struct remote *m, struct log_fetch *f)
{
	enum err e;

	f->head = NULL;
	f->count = 0;
	f->there = NULL;
	if (!m->from.p)
		return logs_fetch_wire(c, m, f);
	if (!(e = remote_open_folder(c, m, m->from, STR("packed-refs"), &f->there)))
		return logs_list_folder(c, f);
	f->there = NULL;
	return e;
}

void logs_fetch_end(struct log_fetch *f)
{
	if (f->there)
		repo_close(f->there);
	f->there = NULL;
}

/* --- files --- */

static int logs_find_entry(git_repository *git, struct str commit, const char *path, git_oid *out)
{
	git_commit *found = NULL;
	git_tree *tree = NULL;
	git_tree_entry *entry = NULL;
	git_oid oid;
	int code = commit.n == GIT_OID_HEXSZ ? git_oid_fromstrn(&oid, commit.p, commit.n) : -1;

	if (!code && !(code = git_commit_lookup(&found, git, &oid)) &&
	    !(code = git_commit_tree(&tree, found)) &&
	    !(code = git_tree_entry_bypath(&entry, tree, path))) {
		git_oid_cpy(out, git_tree_entry_id(entry));
		code = git_tree_entry_type(entry) == GIT_OBJECT_BLOB ? 0 : -1;
	}
	git_tree_entry_free(entry);
	git_tree_free(tree);
	git_commit_free(found);
	return code;
}

/* The size is read from the object's header, before anything is inflated. */
enum err logs_read(struct call *c, struct repo *r, struct str commit, const char *path,
		   int64_t most, struct str *out)
{
	git_odb_object *object = NULL;
	git_object_t type;
	size_t size;
	git_oid oid;

	*out = STR_NONE;
	if (logs_find_entry(repo_git(r), commit, path, &oid) ||
	    git_odb_read_header(&size, &type, r->odb, &oid) || size > (size_t)most ||
	    git_odb_read(&object, r->odb, &oid))
		return ERR_OK;
	*out = arena_copy(&c->mem, (struct str){ git_odb_object_data(object), size });
	git_odb_object_free(object);
	return ERR_OK;
}

static int logs_put_blob(struct call *c, struct repo *r, git_treebuilder *tree, struct str name,
			 struct str text)
{
	git_oid oid;
	int code = git_odb_write(&oid, r->odb, text.p, text.n, GIT_OBJECT_BLOB);

	return code ? code :
		      git_treebuilder_insert(NULL, tree, arena_cstr(&c->mem, name), &oid,
					     GIT_FILEMODE_BLOB);
}

enum err logs_write(struct call *c, struct repo *r, const struct logs_file *file, size_t count,
		    struct str message, struct str *commit)
{
	const struct str folder = STR("log/");
	git_treebuilder *root = NULL, *inner = NULL;
	git_oid oid;
	bool some = false;
	int code = git_treebuilder_new(&root, r->git, NULL);

	if (!code)
		code = git_treebuilder_new(&inner, r->git, NULL);
	fault_point();
	repo_forget_error();
	for (size_t i = 0; !code && i < count; i++) {
		bool below = str_starts(file[i].path, folder);
		struct str name = below ? str_skip(file[i].path, folder.n) : file[i].path;

		some = some || below;
		code = logs_put_blob(c, r, below ? inner : root, name, file[i].text);
	}
	if (!code && some && !(code = git_treebuilder_write(&oid, inner)))
		code = git_treebuilder_insert(NULL, root, "log", &oid, GIT_FILEMODE_TREE);
	if (!code)
		code = git_treebuilder_write(&oid, root);
	git_treebuilder_free(inner);
	git_treebuilder_free(root);
	if (code)
		return repo_fail(c, ERR_INTERNAL_ERROR, "write", STR("the log of this machine"));
	return repo_commit_tree(c, r, repo_hex(&c->mem, &oid), STR_NONE, message, commit);
}

/* --- the refs at the remote --- */

/* libgit2 pushes only what a local ref points to, so it is shown one. */
enum err logs_push(struct call *c, struct remote *m, struct str ref, struct str commit,
		   struct str old, bool *moved)
{
	git_refdb *refs = NULL;
	enum err e;

	m->forced = true;
	if (repo_show_only(repo_git(m->repo), &commit, 1, &refs))
		e = repo_fail(c, ERR_INTERNAL_ERROR, "push", ref);
	else
		e = remote_push(c, m, STR("refs/haves/0"), ref, commit, old, moved);
	repo_show_all(repo_git(m->repo), refs);
	return e;
}

static enum err logs_delete_in_folder(struct call *c, struct remote *m, struct str ref)
{
	struct repo *there;
	enum err e = remote_open_folder(c, m, m->to, ref, &there);

	if (e)
		return e;
	repo_set_umask(there);
	e = repo_ref_drop(c, there, ref);
	repo_set_umask(m->repo);
	repo_close(there);
	return e;
}

enum err logs_delete(struct call *c, struct remote *m, struct str ref)
{
	struct talk t = { .c = c, .remote = m, .said.mem = &c->mem };
	git_remote_callbacks calls = remote_callbacks(&t);
	char *spec = (char *)arena_fmt(&c->mem, ":" STR_FMT, STR_ARG(ref)).p;
	git_strarray specs = { &spec, 1 };
	git_push_options options;
	git_remote *remote = NULL;
	struct str at;
	int code = 0;
	enum err e;

	if (m->to.p)
		return logs_delete_in_folder(c, m, ref);
	if ((e = remote_connect(c, m, GIT_DIRECTION_PUSH, &calls, &remote)))
		return e;
	t.wire = remote;
	git_push_options_init(&options, GIT_PUSH_OPTIONS_VERSION);
	options.callbacks = calls;
	if (!(e = remote_find(c, m, remote, ref, &at)) && at.p)
		code = git_remote_upload(remote, &specs, &options);
	if (!e && (code || t.refused.p))
		e = t.refused.p ?
			    call_fail(c, ERR_REMOTE_REJECTED,
				      "'" STR_FMT "' did not delete the ref: " STR_FMT,
				      STR_ARG(m->name), STR_ARG(remote_shown(c, m, t.refused))) :
			    remote_unreachable(c, m, code, "push to");
	git_remote_disconnect(remote);
	git_remote_free(remote);
	return e;
}

/* --- tidying --- */

static void logs_count_file(void *arg, struct str name)
{
	(void)name;
	++*(size_t *)arg;
}

/* The number of files, estimated from one of the 256 folders of loose objects. */
static size_t logs_file_count(struct call *c, struct str folder)
{
	size_t loose = 0, packs = 0;

	file_each(c, path_join(&c->mem, folder, STR("17")), logs_count_file, &loose);
	file_each(c, path_join(&c->mem, folder, STR("pack")), logs_count_file, &packs);
	call_forgive(c);
	return loose * 256 + packs;
}

enum err logs_tidy(struct call *c, struct repo *r, struct str folder, const struct str *commits,
		   size_t count, bool *done)
{
	enum { FILES_MOST = 2000 };
	struct str fresh = arena_fmt(&c->mem, STR_FMT ".new", STR_ARG(folder));
	git_odb *to = NULL;
	bool all;
	int code = 0;
	enum err e;

	*done = false;
	if (logs_file_count(c, folder) < FILES_MOST)
		return ERR_OK;
	if ((e = file_remove_tree(c, fresh)) ||
	    (e = file_make_dir(c, path_join(&c->mem, fresh, STR("pack")), 0700)))
		return e;
	code = logs_objects(c, r, fresh, &to);
	for (size_t i = 0; !code && i < count; i++)
		if (repo_has(r, commits[i]))
			code = repo_copy_objects(r->git, to, commits[i], NULL, 0, 0, false, &all);
	git_odb_free(to);
	if (code)
		return repo_fail(c, ERR_INTERNAL_ERROR, "write to", fresh);
	*done = true;
	if ((e = file_remove_tree(c, folder)))
		return e;
	return rename(arena_cstr(&c->mem, fresh), arena_cstr(&c->mem, folder)) ?
		       file_fail(c, "rename", fresh) :
		       ERR_OK;
}
