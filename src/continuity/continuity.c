#include "continuity/continuity.h"

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "beads/find.h"
#include "continuity/named.h"
#include "store/output.h"
#include "store/user_folder.h"

enum { KEEP_EVENTS = 50, MANY_EVENTS = 200, COLLECT_MOST = 500 };

/* --- where --- */

static enum err user_store_need_home(struct call *c)
{
	if (path_home_known())
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT,
		  "this folder is not in a repository, and HOME is not set to an absolute path");
	return call_step(c, "Set HOME, or pass a database with --db-path.");
}

/* The user's own store, a repository for nothing else. Readers do not create it. */
static enum err user_store_locate(struct call *c, struct continuity *k, struct str dir)
{
	struct beads b;
	struct file_found head;
	enum err e = file_look(c, path_join(&c->mem, dir, STR("HEAD")), &head);

	if (e)
		return e;
	c->project = c->gitdir = dir;
	k->fresh = k->fresh || head.kind == FILE_NONE;
	if (k->fresh)
		k->state = TASKS_NONE;
	c->exposed = k->path;
	if (k->path.p)
		return ERR_OK;
	k->path = path_join(&c->mem, dir, STR("abacus/vybe.db"));
	if (!k->fresh && !(e = beads_home(c, &b)))
		k->path = path_join(&c->mem, b.home, STR("vybe.db"));
	c->exposed = path_parent(k->path);
	return e;
}

/* The folder of a named file is created first: once it was checked, nobody else can replace it. */
static enum err continuity_find(struct call *c, enum vybe_mode mode, struct continuity *out)
{
	struct str dir = c->project.p ? path_resolve(&c->mem, c->dir, c->project) : c->dir;
	struct repository repo;
	struct beads b;
	enum err e;

	*out = (struct continuity){ .source = STR("repository"), .db.lock = LOCK_NONE };
	if (c->store.p) {
		out->source = STR("named");
		out->path = path_resolve(&c->mem, c->dir, c->store);
		dir = arena_fmt(&c->mem, STR_FMT ".git", STR_ARG(out->path));
		if ((e = output_check(c, out->path,
				      mode == VYBE_READ ? OUTPUT_ALLOW_MISSING :
							  OUTPUT_MAKE_MISSING)) ||
		    (e = named_check(c, out->path, dir, &out->fresh)))
			return e;
		return user_store_locate(c, out, dir);
	}
	if ((e = place_repository(c, dir, &repo)))
		return e;
	if (!repo.tree.p) {
		out->source = STR("user");
		if ((e = user_store_need_home(c)) ||
		    (e = user_folder_data(c, STR("user.git"), &dir)))
			return e;
		return user_store_locate(c, out, dir);
	}
	if ((e = beads_home(c, &b)))
		return e;
	out->path = path_join(&c->mem, b.home, STR("vybe.db"));
	out->common = b.repo.common;
	return ERR_OK;
}

enum err continuity_locate(struct call *c, struct continuity *out)
{
	return continuity_find(c, VYBE_READ, out);
}

/* Makes the folder of the file, which does not exist before the first write. */
static enum err continuity_make_home(struct call *c, struct continuity *k)
{
	struct file_found found;
	struct str home;
	enum err e = file_look(c, k->path, &found);

	if (e || found.size > 0)
		return e;
	if (!k->common.p)
		return file_make_dir(c, path_parent(k->path), 0700);
	if ((e = home_make(c, k->common, HOME_ANY, &home)) || (e = home_check(c, home)))
		return e;
	k->path = path_join(&c->mem, home, STR("vybe.db"));
	return ERR_OK;
}

static enum err continuity_open_here(struct call *c, enum vybe_mode mode, struct continuity *out)
{
	enum err e = continuity_find(c, mode, out);

	if (!e && c->store.p && mode != VYBE_READ) /* one that is refused stays alone */
		e = vybe_db_look(c, out->path);
	if (!e && out->fresh && mode == VYBE_WRITE) {
		e = named_repository_create(c, c->project);
		out->state = TASKS_CLOSED;
	}
	if (!e && mode != VYBE_READ)
		e = continuity_make_home(c, out);
	if (!e)
		e = vybe_db_open(c, out->path, mode, &out->db);
	if (e == ERR_DAMAGED && c->store.p) { /* doctor does not know of this file */
		struct str to = path_unused(&c->mem, out->path, "damaged");

		return call_step(c,
				 "Nothing was changed. Set the file aside, and the next write "
				 "starts a new one: mv " STR_FMT " " STR_FMT,
				 STR_ARG(spawn_word(&c->mem, out->path)),
				 STR_ARG(spawn_word(&c->mem, to)));
	}
	if (e == ERR_READ_ONLY && !out->common.p)
		return call_step(c, "Pass a file that can be written with --db-path, or set "
				    "XDG_DATA_HOME to a folder that can be written.");
	return home_explain(c, e, path_parent(out->path));
}

/* The store may be moved between the search and the lock, or before a reader opens its file. */
static bool continuity_was_moved(struct call *c, const struct continuity *k)
{
	return k->common.p && (home_moved(c, k->common, path_parent(k->path)) ||
			       (!c->code && file_exists(&c->mem, k->path)));
}

enum err continuity_open(struct call *c, enum vybe_mode mode, struct continuity *out)
{
	enum err e = continuity_open_here(c, mode, out);

	for (int i = 0; (e || !out->db.db) && i < HOME_TRIES_MOST && continuity_was_moved(c, out);
	     i++) {
		call_forgive(c);
		e = continuity_open_here(c, mode, out);
	}
	return e;
}

enum err continuity_commit(struct call *c, struct continuity *k)
{
	return vybe_db_commit(c, &k->db);
}

enum err continuity_tasks(struct call *c, struct continuity *k, struct beads **out)
{
	enum err e;

	*out = NULL;
	if (k->state == TASKS_CLOSED) {
		e = beads_open(c, BEADS_READ, &k->tasks);
		if (e && e != ERR_NOT_INITIALIZED && e != ERR_NOT_A_REPOSITORY)
			return e;
		k->state = e ? TASKS_NONE : TASKS_OPEN;
		call_forgive(c);
	}
	if (k->state == TASKS_OPEN)
		*out = &k->tasks;
	return ERR_OK;
}

void continuity_let_go(struct continuity *k)
{
	if (k->state == TASKS_OPEN)
		beads_close(&k->tasks);
	k->state = TASKS_CLOSED;
}

void continuity_close(struct continuity *k)
{
	continuity_let_go(k);
	vybe_db_close(&k->db);
}

enum err continuity_task_id(struct call *c, struct continuity *k, struct str *id)
{
	struct bead_row *row;
	struct beads *b;
	enum err e = continuity_tasks(c, k, &b);

	if (!e && b && id->n) {
		if (!find_bead(c, b, *id, &row))
			*id = row->id;
		call_forgive(c);
	}
	continuity_let_go(k);
	return e;
}

struct str continuity_agent(struct call *c, struct str name)
{
	char *copy;

	name = arena_copy(&c->mem, str_trim(name));
	copy = (char *)name.p;
	for (size_t i = 0; i < name.n; i++)
		if (copy[i] >= 'A' && copy[i] <= 'Z')
			copy[i] = (char)(copy[i] + ('a' - 'A'));
	return name;
}

/*
 * Is this the root of the call's repository? The root of another repository is an ordinary folder.
 */
static enum err project_is_own_root(struct call *c, struct str path, bool *yes)
{
	struct repository repo, own;
	enum err e;

	*yes = false;
	e = place_repository(c, path, &repo);
	if (e == ERR_DUBIOUS_OWNERSHIP) {
		return call_forgive(c);
	}
	if (e || (e = place_repository(c, c->dir, &own)))
		return e;
	*yes = repo.tree.p && own.tree.p && str_eq(repo.common, own.common) &&
	       (str_eq(path, path_real(&c->mem, repo.tree)) ||
		str_eq(path, path_real(&c->mem, repo.main)));
	return ERR_OK;
}

enum err continuity_project(struct call *c, struct str dir, struct str *out)
{
	struct str path;
	struct file_found found;
	bool own;
	enum err e;

	*out = STR("");
	if (!dir.p)
		return ERR_OK;
	path = path_resolve(&c->mem, c->dir, dir);
	if ((e = file_look(c, path, &found)))
		return e;
	if (found.kind != FILE_FOLDER)
		return call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a directory",
				 STR_ARG(path));
	path = path_real(&c->mem, path);
	if (!(e = project_is_own_root(c, path, &own)) && !own)
		*out = path;
	return e;
}

/* --- focus --- */

enum err continuity_focus(struct call *c, struct continuity *k, struct str *task)
{
	struct vybe_agent a = { .agent = c->actor, .project = STR("") };
	enum err e = vybe_agent_find(c, &k->db, &a);

	*task = a.focus;
	return e;
}

enum err continuity_set_focus(struct call *c, struct continuity *k, struct str task)
{
	struct vybe_agent a = { .agent = c->actor, .project = STR("") };
	enum err e = vybe_agent_find(c, &k->db, &a);

	if (e)
		return e;
	a.focus = task;
	return vybe_agent_put(c, &k->db, &a);
}

/* --- events --- */

enum err continuity_note(struct call *c, struct continuity *k, const struct event_note *note,
			 int64_t *id)
{
	struct event_row row = { .kind = str_of(note->kind),
				 .agent = c->actor,
				 .project = note->project,
				 .task = note->task,
				 .message = note->message.p ? note->message : STR(""),
				 .metadata = note->metadata };
	enum err e = vybe_event_put(c, &k->db, &row);

	if (id)
		*id = row.id;
	return e;
}

void event_row_encode(struct json *j, const struct event_row *e)
{
	json_object(j);
	json_put_int(j, "id", e->id);
	json_put_str(j, "kind", e->kind);
	json_put_str(j, "agent_name", e->agent);
	json_put_filled(j, "project_id", e->project);
	json_put_str(j, "task_id", e->task.p ? e->task : STR(""));
	json_put_str(j, "message", e->message);
	json_put_raw(j, "metadata", e->metadata);
	json_put_str(j, "created_at", moment_format(j->out.mem, e->created));
	json_end(j);
}

bool event_listed(const struct event_row *list, int64_t id)
{
	while (list && list->id != id)
		list = list->next;
	return list;
}

void memory_row_encode(struct json *j, const struct memory_row *m)
{
	json_object(j);
	json_put_int(j, "id", m->id);
	json_put_str(j, "key", m->key);
	json_put_str(j, "value", m->value);
	json_put_str(j, "value_type", m->type);
	json_put_str(j, "scope", m->scope);
	json_put_str(j, "scope_id", m->scope_id);
	json_put_present(j, "kind", m->kind);
	if (m->pinned)
		json_put_bool(j, "pinned", true);
	if (m->expires)
		json_put_moment(j, "expires_at", m->expires);
	json_put_moment(j, "updated_at", m->updated);
	json_put_moment(j, "created_at", m->created);
	json_end(j);
}

void artifact_row_encode(struct json *j, const struct artifact_row *a)
{
	json_object(j);
	json_put_int(j, "id", a->id);
	json_put_str(j, "task_id", a->task);
	json_put_int(j, "event_id", a->event);
	json_put_str(j, "file_path", a->path);
	json_put_str(j, "content_type", a->type.p ? a->type : STR(""));
	json_put_moment(j, "created_at", a->created);
	json_end(j);
}

enum err continuity_checkpoint(struct call *c, struct continuity *k)
{
	int64_t live, count, first, last, expired;
	enum err e;

	if ((e = vybe_memory_collect(c, &k->db, COLLECT_MOST, &expired)) ||
	    (e = vybe_event_live(c, &k->db, &live)) || live <= MANY_EVENTS)
		return e;
	if ((e = vybe_event_archive(c, &k->db, KEEP_EVENTS, &count, &first, &last)))
		return e;
	return continuity_note(
		c, k,
		&(struct event_note){
			.kind = "events_summary",
			.message = arena_fmt(&c->mem, "%lld events (%lld to %lld) were archived",
					     (long long)count, (long long)first, (long long)last) },
		NULL);
}
