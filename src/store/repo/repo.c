#include "store/repo/repo.h"

#include <errno.h>
#include <git2.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/system/fault.h"
#include "base/system/file.h"
#include "store/repo/repo_parts.h"

struct git_repository *repo_git(struct repo *r)
{
	return r->git;
}

/*
 * libgit2 has the reason in words only. Where it does not set an error, as when it writes a loose
 * object, errno has the reason.
 */
int repo_disk_error(void)
{
	static const int reasons[] = { ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE, EROFS };
	const git_error *error = git_error_last();
	bool disk = error && (error->klass == GIT_ERROR_OS || error->klass == GIT_ERROR_NOMEMORY);

	if (error && !disk && error->klass != GIT_ERROR_ODB && error->klass != GIT_ERROR_INDEXER)
		return 0;
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (error ? strstr(error->message, strerror(reasons[i])) != NULL :
			    errno == reasons[i])
			return reasons[i];
	return disk ? EIO : 0;
}

const char *repo_error_text(void)
{
	const git_error *error = git_error_last();
	int disk = repo_disk_error();

	return error && error->message ? error->message : disk ? strerror(disk) : "unknown";
}

bool repo_error_is(int klass)
{
	const git_error *error = git_error_last();

	return error && error->klass == klass;
}

void repo_forget_error(void)
{
	git_error_clear();
	errno = 0;
}

enum err repo_fail(struct call *c, enum err code, const char *what, struct str of)
{
	int disk = repo_disk_error();

	call_fail(c, code, "cannot %s '" STR_FMT "': %s", what, STR_ARG(of), repo_error_text());
	return code == ERR_INTERNAL_ERROR ? file_remedy(c, disk) : code;
}

static enum err repo_fail_internal(struct call *c, const char *what, struct str of)
{
	return repo_fail(c, ERR_INTERNAL_ERROR, what, of);
}

/*
 * Fails because an object cannot be read. An I/O error is not reported as damage: the object itself
 * may be intact.
 */
static enum err fail_to_read(struct call *c, struct repo *r, const char *what, struct str of)
{
	enum err e;

	if (repo_disk_error())
		return repo_fail_internal(c, what, of);
	if ((e = repo_check_loose(c, r)))
		return e;
	repo_fail(c, ERR_DAMAGED, what, of);
	return call_step(c, "Run 'bd repair --apply': it gets from the remote what that has of the "
			    "lost data.");
}

/* libgit2 before 1.5 has no such option. */
static void repo_trust_owners(void)
{
#if LIBGIT2_VER_MAJOR > 1 || LIBGIT2_VER_MINOR >= 5
	git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
#endif
}

enum err repo_open(struct call *c, struct str gitdir, struct repo **out)
{
	struct repo *r = arena_new(&c->mem, struct repo);
	struct str objects;

	git_libgit2_init();
	repo_trust_owners();
	/* objects must be durable before they are reported as stored */
	git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
	/* objects that this process has just written need not be hashed again */
	git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
	*out = r;
	r->file_most = INT64_MAX;
	if (git_repository_open_ext(&r->git, arena_cstr(&c->mem, gitdir),
				    GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_NO_DOTGIT,
				    NULL) ||
	    git_repository_odb(&r->odb, r->git))
		return repo_fail_internal(c, "open the repository", gitdir);
	objects = repo_objects(c, r);
	if (repo_loose_add(c, r, r->odb, &objects, 1))
		return repo_fail_internal(c, "read the objects of", gitdir);
	return ERR_OK;
}

size_t repo_held(const struct repo *r)
{
	return r->held_count;
}

void repo_forget_after(struct repo *r, size_t held)
{
	while (r->held_count > held)
		git_odb_object_free(r->held[--r->held_count]);
}

void repo_forget(struct repo *r)
{
	repo_forget_after(r, 0);
	free(r->held);
	r->held = NULL;
}

void repo_close(struct repo *r)
{
	repo_forget(r);
	repo_quarantine_drop(r);
	git_odb_free(r->odb);
	git_repository_free(r->git);
	git_libgit2_shutdown();
}

struct str repo_hex(struct arena *mem, const git_oid *oid)
{
	char text[GIT_OID_HEXSZ + 1];

	git_oid_tostr(text, sizeof text, oid);
	return arena_copy(mem, str_of(text));
}

bool repo_oid_of(struct str name, git_oid *out)
{
	return name.n == GIT_OID_HEXSZ && !git_oid_fromstrn(out, name.p, name.n);
}

/* --- commits --- */

bool repo_has(struct repo *r, struct str commit)
{
	git_oid oid;

	return repo_oid_of(commit, &oid) && git_odb_exists(r->odb, &oid);
}

const char *repo_kind(struct repo *r, struct str name)
{
	git_oid oid;
	git_object_t type;
	size_t size;

	return repo_oid_of(name, &oid) && !git_odb_read_header(&size, &type, r->odb, &oid) ?
		       git_object_type2string(type) :
		       NULL;
}

bool repo_is_commit(struct repo *r, struct str name)
{
	git_commit *commit = NULL;
	git_oid oid;
	bool yes = repo_oid_of(name, &oid) && !git_commit_lookup(&commit, r->git, &oid);

	git_commit_free(commit);
	return yes;
}

static enum err repo_lookup(struct call *c, struct repo *r, struct str name, git_commit **out)
{
	git_oid oid;

	if (!repo_oid_of(name, &oid))
		return call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a commit",
				 STR_ARG(name));
	return git_commit_lookup(out, r->git, &oid) ? fail_to_read(c, r, "read the commit", name) :
						      ERR_OK;
}

enum err repo_commit(struct call *c, struct repo *r, struct str name, struct commit *out)
{
	git_commit *commit = NULL;
	enum err e = repo_lookup(c, r, name, &commit);

	if (e)
		return e;
	*out = (struct commit){
		.name = name,
		.tree = repo_hex(&c->mem, git_commit_tree_id(commit)),
		.time_ms = (int64_t)git_commit_time(commit) * 1000,
	};
	if (git_commit_parentcount(commit))
		out->parent = repo_hex(&c->mem, git_commit_parent_id(commit, 0));
	git_commit_free(commit);
	return ERR_OK;
}

struct str repo_peel(struct call *c, struct repo *r, struct str name)
{
	git_object *found = NULL, *peeled = NULL;
	struct str commit = STR_NONE, kind = str_of(repo_kind(r, name));
	git_oid oid;

	if (kind.p && str_is(kind, "commit")) /* libgit2 may fail to parse it */
		return name;
	if (kind.p && str_is(kind, "tag") && repo_oid_of(name, &oid) &&
	    !git_object_lookup(&found, r->git, &oid, GIT_OBJECT_TAG) &&
	    !git_object_peel(&peeled, found, GIT_OBJECT_COMMIT))
		commit = repo_hex(&c->mem, git_object_id(peeled));
	git_object_free(found);
	git_object_free(peeled);
	return commit;
}

enum err repo_find(struct call *c, struct repo *r, struct str spec, struct str *commit)
{
	git_object *found = NULL, *peeled = NULL;
	int code = git_revparse_single(&found, r->git, arena_cstr(&c->mem, spec));

	*commit = STR_NONE;
	if (!code && !(code = git_object_peel(&peeled, found, GIT_OBJECT_COMMIT)))
		*commit = repo_hex(&c->mem, git_object_id(peeled));
	git_object_free(found);
	git_object_free(peeled);
	if (!code)
		return ERR_OK;
	call_fail(c, code == GIT_EAMBIGUOUS ? ERR_AMBIGUOUS_ID : ERR_NOT_FOUND,
		  code == GIT_EAMBIGUOUS ? "more than one commit begins with '" STR_FMT "'" :
					   "there is no commit '" STR_FMT "'",
		  STR_ARG(spec));
	return call_step(c, "Run 'bd commits' to list the commits of the beads.");
}

bool repo_reaches(struct repo *r, struct str b, struct str a)
{
	git_oid later, earlier;

	return str_eq(a, b) || (repo_oid_of(b, &later) && repo_oid_of(a, &earlier) &&
				git_graph_descendant_of(r->git, &later, &earlier) == 1);
}

int64_t repo_distance(struct repo *r, struct str from, struct str to, int64_t most)
{
	git_revwalk *walk = NULL;
	git_oid start, end, at;
	int64_t n = 0;

	if (!repo_oid_of(to, &start) || git_revwalk_new(&walk, r->git))
		return -1;
	git_revwalk_simplify_first_parent(walk);
	git_revwalk_push(walk, &start);
	while (n <= most && !git_revwalk_next(&at, walk)) {
		if (from.p && repo_oid_of(from, &end) && git_oid_equal(&at, &end)) {
			git_revwalk_free(walk);
			return n;
		}
		n++;
	}
	git_revwalk_free(walk);
	return from.p ? -1 : n;
}

static void repo_hold(struct repo *r, git_odb_object *object)
{
	git_odb_object **held = realloc(r->held, (r->held_count + 1) * sizeof(git_odb_object *));

	if (!held)
		abort();
	r->held = held;
	r->held[r->held_count++] = object;
}

void repo_limit_files(struct repo *r, int64_t most, const char *const *known, size_t count)
{
	r->file_most = most;
	r->known = known;
	r->known_count = count;
}

/* The size is checked first: a few bytes of a pack can inflate to gigabytes. */
static enum err read_blob(struct call *c, struct repo *r, const git_oid *oid, const char *name,
			  struct str commit, struct str *text)
{
	git_odb_object *object = NULL;
	git_object_t type;
	size_t size;

	if (git_odb_read_header(&size, &type, r->odb, oid))
		return fail_to_read(c, r, "read", str_of(name));
	if (size > (size_t)r->file_most) {
		call_fail(c, ERR_REMOTE_DAMAGED,
			  "%s of commit %.10s has %zu bytes; at most %lld are read", name, commit.p,
			  size, (long long)r->file_most);
		return call_step(c,
				 "Nothing was changed. If that size is expected, raise the limit: "
				 "'bd config set sync.max_file " STR_FMT "'.",
				 STR_ARG(number_size(&c->mem, (int64_t)size)));
	}
	if (git_odb_read(&object, r->odb, oid))
		return fail_to_read(c, r, "read", str_of(name));
	repo_hold(r, object);
	*text = (struct str){ git_odb_object_data(object), git_odb_object_size(object) };
	if (!text->p)
		text->p = "";
	return ERR_OK;
}

enum err repo_file(struct call *c, struct repo *r, struct str commit, const char *name,
		   struct str *text, struct str *blob)
{
	git_commit *found = NULL;
	git_tree *tree = NULL;
	const git_tree_entry *entry;
	enum err e = repo_lookup(c, r, commit, &found);

	*text = *blob = STR_NONE;
	if (e)
		return e;
	if (git_commit_tree(&tree, found))
		e = fail_to_read(c, r, "read the tree of", commit);
	entry = e ? NULL : git_tree_entry_byname(tree, name);
	if (entry && git_tree_entry_type(entry) == GIT_OBJECT_BLOB) {
		*blob = repo_hex(&c->mem, git_tree_entry_id(entry));
		e = read_blob(c, r, git_tree_entry_id(entry), name, commit, text);
	}
	git_tree_free(tree);
	git_commit_free(found);
	return e;
}

/* --- writing --- */

static int write_pieces(git_odb *odb, const struct repo_file *file, git_oid *out)
{
	git_odb_stream *stream = NULL;
	size_t size = 0;
	int code;

	for (size_t i = 0; i < file->pieces; i++)
		size += file->piece[i].n;
	code = git_odb_open_wstream(&stream, odb, size, GIT_OBJECT_BLOB);
	for (size_t i = 0; !code && i < file->pieces; i++)
		if (file->piece[i].n)
			code = git_odb_stream_write(stream, file->piece[i].p, file->piece[i].n);
	if (!code)
		code = git_odb_stream_finalize_write(out, stream);
	git_odb_stream_free(stream);
	return code;
}

static enum err put_file(struct call *c, struct repo *r, git_treebuilder *tree,
			 const struct repo_file *file)
{
	git_oid oid;

	fault_point();
	repo_forget_error();
	if ((file->blob.p ? !repo_oid_of(file->blob, &oid) : write_pieces(r->odb, file, &oid)) ||
	    git_treebuilder_insert(NULL, tree, file->name, &oid, GIT_FILEMODE_BLOB))
		return repo_fail_internal(c, "write", str_of(file->name));
	return ERR_OK;
}

/* The tree being made, and the space that files beside the store take in it. */
struct keeping {
	git_treebuilder *made;
	struct repo_beside beside;
	size_t size;
};

/* The space that is taken once this entry replaces `known` (or NULL). */
static size_t size_with(struct keeping *k, const git_tree_entry *entry, const git_tree_entry *known)
{
	struct repo *r = k->beside.repo;
	size_t old = known && repo_is_beside(r, known, 0) ? repo_beside_size(&k->beside, known) : 0;

	return repo_is_beside(r, entry, 0) ?
		       repo_size_add(k->size - old, repo_beside_size(&k->beside, entry)) :
		       k->size - old;
}

/*
 * An entry that Git itself would not write, such as "..", is left out: otherwise one such entry in
 * a pushed commit would prevent every clone from publishing.
 */
static int keep_entry(struct keeping *k, const git_tree_entry *entry)
{
	const char *name = git_tree_entry_name(entry);
	const git_tree_entry *known = git_treebuilder_get(k->made, name);
	size_t size;
	int code;

	if (known && git_oid_cmp(git_tree_entry_id(known), git_tree_entry_id(entry)) >= 0)
		return 0;
	size = size_with(k, entry, known);
	if (size > k->size && size > (size_t)k->beside.repo->file_most)
		return 0;
	code = git_treebuilder_insert(NULL, k->made, name, git_tree_entry_id(entry),
				      git_tree_entry_filemode(entry));
	if (!code)
		k->size = size;
	return repo_error_is(GIT_ERROR_TREE) ? 0 : code;
}

/* Files of other programs in the commit's tree are preserved. */
static enum err keep_entries(struct call *c, struct repo *r, struct keeping *k, struct str commit)
{
	git_commit *found = NULL;
	git_tree *tree = NULL;
	enum err e = repo_lookup(c, r, commit, &found);
	int code;

	if (e)
		return e;
	code = git_commit_tree(&tree, found);
	for (size_t i = 0; !code && i < git_tree_entrycount(tree); i++)
		code = keep_entry(k, git_tree_entry_byindex(tree, i));
	git_tree_free(tree);
	git_commit_free(found);
	return code ? repo_fail_internal(c, "keep the other files of", commit) : ERR_OK;
}

enum err repo_tree(struct call *c, struct repo *r, const struct str keep[REPO_KEEP],
		   struct repo_file *files, size_t count, struct str *tree)
{
	git_treebuilder *made = NULL;
	struct keeping k = { .beside = { .repo = r, .names = r, .sizes.mem = &c->mem } };
	enum err e = ERR_OK;
	git_oid oid;

	if (git_treebuilder_new(&made, r->git, NULL))
		return repo_fail_internal(c, "make a tree for", STR("a commit"));
	k.made = made;
	for (size_t i = 0; !e && i < REPO_KEEP; i++)
		e = keep[i].p ? keep_entries(c, r, &k, keep[i]) : ERR_OK;
	for (size_t i = 0; !e && i < count; i++)
		e = put_file(c, r, made, &files[i]);
	fault_point();
	repo_forget_error();
	if (!e && git_treebuilder_write(&oid, made))
		e = repo_fail_internal(c, "write", STR("a tree"));
	git_treebuilder_free(made);
	if (!e)
		*tree = repo_hex(&c->mem, &oid);
	return e;
}

/* Replaces characters that Git cannot store in a name or an email address. */
static const char *repo_plain(struct call *c, const git_buf *text, const char *otherwise)
{
	char *plain = (char *)arena_cstr(&c->mem, str_of(text->ptr));

	for (char *at = plain; text->size && *at; at++)
		if ((unsigned char)*at < ' ' || *at == '<' || *at == '>')
			*at = ' ';
	return text->size && str_trim(str_of(plain)).n ? plain : otherwise;
}

/* The user's Git identity, or a default if user.name or user.email is not set. */
static int repo_sign(struct call *c, struct repo *r, git_signature **out)
{
	git_config *config = NULL;
	git_buf name = { 0 }, email = { 0 };
	int code;

	if (!git_repository_config_snapshot(&config, r->git)) {
		git_config_get_string_buf(&name, config, "user.name");
		git_config_get_string_buf(&email, config, "user.email");
	}
	code = git_signature_new(out, repo_plain(c, &name, "abacus"),
				 repo_plain(c, &email, "abacus@localhost"), c->now_ms / 1000, 0);
	git_buf_dispose(&name);
	git_buf_dispose(&email);
	git_config_free(config);
	return code;
}

enum err repo_commit_tree(struct call *c, struct repo *r, struct str tree, struct str parent,
			  struct str message, struct str *commit)
{
	git_signature *who = NULL;
	git_tree *files = NULL;
	git_commit *before = NULL;
	git_oid oid, tree_oid;
	enum err e = parent.p ? repo_lookup(c, r, parent, &before) : ERR_OK;

	if (e)
		return e;
	fault_point();
	repo_forget_error();
	if (repo_sign(c, r, &who) || !repo_oid_of(tree, &tree_oid) ||
	    git_tree_lookup(&files, r->git, &tree_oid) ||
	    git_commit_create_v(&oid, r->git, NULL, who, who, "UTF-8", arena_cstr(&c->mem, message),
				files, before ? 1 : 0, before))
		e = repo_fail_internal(c, "write", STR("a commit"));
	else
		*commit = repo_hex(&c->mem, &oid);
	git_tree_free(files);
	git_commit_free(before);
	git_signature_free(who);
	return e;
}
