#include "agents/current.h"

#include "base/hash.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "beads/edit.h"
#include "store/db/bead_cache.h"
#include "store/mend.h"

enum { ID_MOST = 500 };

static struct str current_folder(struct call *c, struct str home)
{
	return path_join(&c->mem, home, STR("work"));
}

/* A name may have any character, so the file is named by its hash. */
static struct str current_path(struct call *c, struct str home, struct str agent)
{
	enum { DIGITS = 32 };

	return arena_fmt(&c->mem, STR_FMT "/" STR_FMT ".json", STR_ARG(current_folder(c, home)),
			 STR_ARG(str_head(sha256_hex(&c->mem, agent), DIGITS)));
}

/* The id goes into commit messages, and a program in a sandbox may write the file. */
static bool current_valid(const struct current *one)
{
	return one->bead.n && one->bead.n <= ID_MOST && !utf8_has_control(one->bead) &&
	       !memchr(one->bead.p, ' ', one->bead.n);
}

/* A file that cannot be used counts as missing: 'abacus work ID' writes it again. */
static enum err current_read(struct call *c, struct str path, struct current *out)
{
	struct str text;
	const struct value *v;
	enum err e = file_own_read(c, path, &text);

	*out = (struct current){ 0 };
	if (e || !(v = text.p ? value_read(&c->mem, text) : NULL))
		return e;
	*out = (struct current){ .agent = value_str(v, "agent"),
				 .bead = value_str(v, "bead"),
				 .created.by = value_str(v, "created_by"),
				 .branch = value_str(v, "branch"),
				 .tree = value_str(v, "tree"),
				 .begun = value_yes(v, "begun"),
				 .linked = value_yes(v, "linked") };
	value_int(v, "since", &out->since_ms);
	if (!stamp_decode(value_find(v, "created_at"), &out->created.at))
		out->created.by = STR_NONE;
	if (!current_valid(out))
		*out = (struct current){ 0 };
	return ERR_OK;
}

enum err current_find(struct call *c, struct str home, struct str agent, struct current *out)
{
	return current_read(c, current_path(c, home, agent), out);
}

enum err current_put(struct call *c, struct str home, const struct current *one)
{
	struct json j = json_new(&c->mem);
	enum err e = file_make_folder(c, current_folder(c, home), 0700);

	json_object(&j);
	json_put_str(&j, "agent", one->agent);
	json_put_str(&j, "bead", one->was.p ? one->was : one->bead);
	if (one->created.by.p) {
		json_name(&j, STR("created_at"));
		stamp_encode(&j, one->created.at);
		json_put_str(&j, "created_by", one->created.by);
	}
	json_put_str(&j, "branch", one->branch);
	json_put_str(&j, "tree", one->tree);
	json_put_bool(&j, "begun", one->begun);
	json_put_bool(&j, "linked", one->linked);
	json_put_int(&j, "since", one->since_ms);
	json_end(&j);
	return e ? e : file_own_replace(c, current_path(c, home, one->agent), json_text(&j), 0600);
}

enum err current_follow(struct call *c, struct beads *b, struct current *one)
{
	struct bead_row *row;
	struct edit is;
	struct str other;
	enum err e;

	if (!one->created.by.p)
		return ERR_OK;
	if ((e = cache_find_bead(c, &b->cache, one->bead, &row)) ||
	    (row && (e = edit_begin(c, b, row, &is))) ||
	    (row && !mark_cmp(is.now.created, one->created)))
		return e;
	other = bead_other_id(&c->mem, one->bead, one->created);
	if ((e = cache_find_row(c, &b->cache, other, false, &row)) || !row)
		return e;
	call_warn(c, "your bead is now '" STR_FMT "': an older bead has the id '" STR_FMT "'",
		  STR_ARG(other), STR_ARG(one->bead));
	one->was = one->bead;
	one->bead = other;
	return ERR_OK;
}

enum err current_drop(struct call *c, struct str home, struct str agent)
{
	return file_remove_durably(c, current_path(c, home, agent));
}

struct current_list {
	struct call *c;
	struct str folder;
	struct current **tail;
};

static void current_add(void *arg, struct str name)
{
	struct current_list *list = arg;
	struct current one;

	if (!str_ends(name, STR(".json")))
		return;
	if (current_read(list->c, path_join(&list->c->mem, list->folder, name), &one))
		call_forgive(list->c);
	if (!one.bead.p)
		return;
	*list->tail = arena_new(&list->c->mem, struct current);
	**list->tail = one;
	list->tail = &(*list->tail)->next;
}

enum err current_each(struct call *c, struct str home, struct current **out)
{
	struct current_list list = { c, current_folder(c, home), out };

	*out = NULL;
	return file_is_dir(&c->mem, list.folder) ? file_each(c, list.folder, current_add, &list) :
						   ERR_OK;
}

/* --- repair --- */

struct current_check {
	struct call *c;
	struct str folder;
	struct mend *m;
};

static void current_check(void *arg, struct str name)
{
	struct current_check *check = arg;
	struct call *c = check->c;
	struct mend *m = check->m;
	struct current one;
	struct mend_finding found = {
		.file = path_join(&c->mem, check->folder, name),
		.status = m->fix ? "fixed" : "error",
		.message = STR("it is damaged, so an agent's current bead is not known"),
		.lost = STR("[\"which bead an agent works on; 'abacus work ID' sets it again\"]"),
	};
	enum err e = ERR_OK;

	if (!str_ends(name, STR(".json")) ||
	    (!(e = current_read(c, found.file, &one)) && one.agent.p && one.bead.p))
		return;
	if (!e && m->fix)
		e = mend_set_aside(c, found.file, &found.kept);
	if (!e && !m->fix)
		found.fix = STR("abacus doctor --fix");
	if (e)
		mend_fail(c, m, found.file);
	else
		mend_tell(m, &found);
}

enum err current_mend(struct call *c, struct str home, struct mend *m)
{
	struct current_check check = { c, current_folder(c, home), m };

	return file_is_dir(&c->mem, check.folder) ?
		       file_each(c, check.folder, current_check, &check) :
		       ERR_OK;
}

struct str current_bead(struct call *c)
{
	struct call before = call_save(c);
	struct current one = { 0 };
	struct beads b;

	if (c->actor.p && !beads_home(c, &b) && current_find(c, b.home, c->actor, &one))
		one.bead = STR_NONE;
	call_restore(c, &before);
	return one.bead;
}
