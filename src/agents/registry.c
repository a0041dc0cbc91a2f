#include "agents/registry.h"

#include "agents/stuck.h"

#include "agents/receipts.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"

enum { ID_LEAST = 3, VERSION = 1 };

/* --- ids --- */

bool registry_id_valid(struct str id)
{
	for (size_t i = 0; i < id.n; i++) {
		bool dash = id.p[i] == '-', letter = id.p[i] >= 'a' && id.p[i] <= 'z',
		     digit = id.p[i] >= '0' && id.p[i] <= '9';

		if (!letter && !digit && !(dash && i && i + 1 < id.n && id.p[i - 1] != '-'))
			return false;
	}
	return id.n >= ID_LEAST && id.n <= REGISTRY_ID_MOST;
}

enum recipient recipient_parse(struct str to, struct str *role)
{
	const struct str prefix = STR("role:");

	*role = STR_NONE;
	if (str_is(to, "broadcast"))
		return RECIPIENT_ALL;
	if (!str_starts(to, prefix))
		return RECIPIENT_AGENT;
	*role = str_trim(str_skip(to, prefix.n));
	return RECIPIENT_ROLE;
}

static enum err check_id(struct call *c, struct str id)
{
	if (registry_id_valid(id))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a valid agent id", STR_ARG(id));
	return call_step(c, "Use 3 to 48 lower-case letters, digits and single dashes, for example "
			    "amber-otter.");
}

/* --- files --- */

static const struct str history_file = { "agents/history.jsonl", 20 };

static struct str registry_name_of(struct call *c, struct str id)
{
	return arena_fmt(&c->mem, "agents/" STR_FMT ".json", STR_ARG(id));
}

static void put_record(struct json *j, const struct registered *a)
{
	json_put_str(j, "agent_id", a->id);
	json_put_str(j, "display_name", a->display);
	json_put_str(j, "role", a->role);
	json_put_str(j, "status", a->status);
	json_put_moment(j, "created_at", a->created_ms);
	json_put_moment(j, "last_seen_at", a->seen_ms);
	json_put_int(j, "version", a->version);
	json_put_present(j, "machine", a->machine);
}

static struct str registry_text_of(struct call *c, const struct registered *a)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	put_record(&j, a);
	json_put_present(&j, "request", a->request);
	json_put_present(&j, "machine_id", a->machine_id);
	json_put_present(&j, "via", a->via);
	json_end(&j);
	buf_char(&j.out, '\n');
	return buf_str(&j.out);
}

/* NULL if the text is no registration; then no memory is taken. */
static struct registered *registry_decode(struct arena *mem, struct str text)
{
	struct arena before = arena_mark(mem);
	struct registered *a = arena_new(mem, struct registered);
	const struct value *v = agent_line_parse(mem, text);

	*a = (struct registered){ .id = value_str(v, "agent_id"),
				  .display = value_str(v, "display_name"),
				  .role = value_str(v, "role"),
				  .status = value_str(v, "status"),
				  .request = value_str(v, "request"),
				  .machine = value_str(v, "machine"),
				  .machine_id = value_str(v, "machine_id"),
				  .via = value_str(v, "via") };
	if (registry_id_valid(a->id) && a->role.n && a->status.n &&
	    moment_parse(value_str(v, "created_at"), &a->created_ms) &&
	    moment_parse(value_str(v, "last_seen_at"), &a->seen_ms) &&
	    value_int(v, "version", &a->version))
		return a;
	arena_rewind(mem, before);
	return NULL;
}

bool registry_line(struct call *c, struct str line)
{
	return registry_decode(&c->mem, line);
}

/* The last registration of each agent, by id. A record that cannot be read is a warning: the agents
 * still have their own files. */
enum err registry_read_history(struct call *c, struct agent_files *f, struct map *out)
{
	struct agent_skips skips = { 0 };
	struct str text, rest, line;
	enum err e = agent_file_read(c, f, history_file, &text);

	*out = (struct map){ .mem = &c->mem };
	for (rest = text; agent_line_next(&rest, &line);) {
		struct registered *a = registry_decode(&c->mem, line);

		if (a)
			*map_put(out, a->id) = a;
		else
			agent_skips_add(&skips, line.p - text.p);
	}
	agent_skips_warn(c, f, history_file, &skips);
	return agent_file_pass_over(c, f, history_file, e);
}

static enum err registry_damaged(struct call *c, struct str id)
{
	call_fail(c, ERR_IO_READ_FAILED, "'agents/" STR_FMT ".json' is damaged", STR_ARG(id));
	return call_remedy(c, "Run 'abacus doctor --fix', which sets the file aside, then "
			      "register the agent again");
}

static enum err registry_read_file(struct call *c, struct agent_files *f, struct str id,
				   bool *there, struct registered **out)
{
	struct str text;
	enum err e = agent_file_read(c, f, registry_name_of(c, id), &text);

	*there = text.p;
	*out = text.p ? registry_decode(&c->mem, text) : NULL;
	if (*out && !str_eq((*out)->id, id))
		*out = NULL;
	return e;
}

/*
 * Takes the agent from the record if its file is lost; NULL if there is no such agent. A process
 * that was killed between the two leaves no file, which is no damage, and a power failure may leave
 * a part of one, because the file is not synced. The next writer that looks for the agent writes
 * it again.
 */
static enum err registry_restore(struct call *c, struct agent_files *f, const struct map *history,
				 struct str id, bool there, struct registered **out)
{
	void **at = map_find(history, id);

	if (!at || !*at)
		return there ? registry_damaged(c, id) : ERR_OK;
	*out = *at;
	if (f->lock.fd >= 0)
		return agent_file_later(c, registry_rewrite(c, f, *out));
	if (there)
		call_warn(c,
			  "'agents/" STR_FMT ".json' is damaged; the registration was read from "
			  "'agents/history.jsonl', and the agent's next command restores the file",
			  STR_ARG(id));
	return ERR_OK;
}

static enum err registry_look_up(struct call *c, struct agent_files *f, struct str id,
				 struct registered **out)
{
	struct map history;
	bool there;
	enum err e;

	if ((e = registry_read_file(c, f, id, &there, out)) || *out ||
	    (e = registry_read_history(c, f, &history)))
		return e;
	return registry_restore(c, f, &history, id, there, out);
}

/* --- agents --- */

enum err registry_find(struct call *c, struct agent_files *f, struct str id,
		       struct registered **out)
{
	bool valid = registry_id_valid(id);
	enum err e = valid ? registry_look_up(c, f, id, out) : ERR_OK;

	if (valid && (e || *out))
		return e;
	call_fail(c, ERR_AGENT_NOT_FOUND, "there is no agent '" STR_FMT "'", STR_ARG(id));
	if (!valid) /* nobody can register it */
		return call_step(c, "'bb agent list' shows who is registered.");
	return call_step(
		c,
		"'bb agent list' shows who is registered; 'bb agent register --name " STR_FMT
		" --role agent' adds this one.",
		STR_ARG(spawn_word(&c->mem, id)));
}

/* All lines are searched: a later registration of the same agent has another mark. */
enum err registry_find_requested(struct call *c, struct agent_files *f, struct registered **out)
{
	struct str mark = receipts_mark(c, c->actor), text, line;
	enum err e = mark.p && f->home.p ? agent_file_read(c, f, history_file, &text) : ERR_OK;

	*out = NULL;
	if (e || !mark.p || !f->home.p)
		return e;
	while (text.n && str_next(&text, '\n', &line)) {
		struct registered *a = str_has(line, mark) ? registry_decode(&c->mem, line) : NULL;

		if (a && str_eq(a->request, mark))
			return registry_look_up(c, f, a->id, out);
	}
	return ERR_OK;
}

static bool registry_fits(struct str want, struct str have)
{
	return !want.p || str_eq(want, have);
}

/* One agent's damaged file must not hide the others. */
static void leave_out(struct call *c, struct str id)
{
	call_warn(c,
		  STR_FMT "; '" STR_FMT
			  "' was skipped, and 'abacus doctor --fix' sets the file aside",
		  STR_ARG(c->message), STR_ARG(id));
	call_forgive(c);
}

enum err registry_list_known(struct call *c, struct agent_files *f, struct map *out)
{
	struct str *ids;
	size_t count;
	enum err e;

	if ((e = registry_read_history(c, f, out)) ||
	    (e = agent_files_list(c, f, STR("agents"), STR(".json"), &ids, &count)))
		return e;
	for (size_t i = 0; i < count; i++)
		if (registry_id_valid(ids[i]))
			map_put(out, ids[i]);
	return ERR_OK;
}

enum err registry_each(struct call *c, struct agent_files *f, struct str role, struct str status,
		       struct registered **out)
{
	struct registered **tail = out, *a;
	const struct map_entry **order;
	struct map known;
	enum err e;

	*out = NULL;
	if ((e = registry_list_known(c, f, &known)))
		return e;
	order = map_sorted(&known, &c->mem);
	for (size_t i = 0; !e && i < known.count; i++) {
		struct str id = order[i]->key;
		bool there;

		e = registry_read_file(c, f, id, &there, &a);
		if (!e && !a && registry_restore(c, f, &known, id, there, &a))
			leave_out(c, id);
		if (e || !a || !registry_fits(role, a->role) || !registry_fits(status, a->status))
			continue;
		*tail = a;
		tail = &a->next;
	}
	return e;
}

static bool registry_is_line(struct str text)
{
	return str_trim(text).n && !utf8_has_control(text);
}

bool registry_words_valid(struct str display, struct str role)
{
	return registry_is_line(role) && (!display.p || registry_is_line(display));
}

static enum err check_words(struct call *c, struct str display, struct str role)
{
	if (registry_words_valid(display, role))
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT, "a %s must be one line of text, and not blank",
			 registry_is_line(role) ? "display name" : "role");
}

/* Has an earlier try of this request registered or changed the agent? It may have changed since. */
static enum err registry_is_done(struct call *c, struct agent_files *f, const struct registered *a,
				 struct str mark, bool *out)
{
	struct str text;
	enum err e = ERR_OK;

	*out = a && mark.p && str_eq(a->request, mark);
	if (!a || !mark.p || *out || (e = agent_file_read(c, f, history_file, &text)))
		return e;
	*out = str_has(text, arena_fmt(&c->mem, "\"request\":\"" STR_FMT "\"", STR_ARG(mark)));
	return ERR_OK;
}

enum err registry_add(struct call *c, struct agent_files *f, struct str id, struct str display,
		      struct str role, bool update, struct registered **out)
{
	struct str mark = receipts_mark(c, c->actor);
	bool done;
	enum err e;

	if (recipient_parse(id, &(struct str){ 0 }) == RECIPIENT_ALL) {
		call_fail(c, ERR_INVALID_INPUT,
			  "'broadcast' is reserved for messages to all "
			  "agents");
		return call_step(c, "Choose another id.");
	}
	if ((e = check_id(c, id)) || (e = check_words(c, display, role)) ||
	    (e = agent_files_begin(c, f)) || (e = registry_look_up(c, f, id, out)) ||
	    (e = registry_is_done(c, f, *out, mark, &done)))
		return e;
	if (done)
		return registry_acted(c, f, *out);
	if (*out && !update) {
		call_fail(c, ERR_DUPLICATE_AGENT_ID, "there is an agent '" STR_FMT "' already",
			  STR_ARG(id));
		return call_step(c,
				 "Choose another id. 'bb agent init --adopt " STR_FMT
				 "' resumes that agent, if it left unfinished work here.",
				 STR_ARG(spawn_word(&c->mem, id)));
	}
	if (!*out) {
		*out = arena_new(&c->mem, struct registered);
		**out = (struct registered){ .id = id,
					     .display = id,
					     .status = STR("idle"),
					     .created_ms = c->now_ms,
					     .version = VERSION };
	}
	(*out)->display = display.p ? str_trim(display) : (*out)->display;
	(*out)->role = str_trim(role); /* filters and role:NAME compare it as text */
	(*out)->request = mark;
	(*out)->via = STR_NONE;
	if (c->now_ms > (*out)->seen_ms)
		(*out)->seen_ms = c->now_ms;
	if ((e = agent_file_append(c, f, history_file, registry_text_of(c, *out))))
		return e;
	return agent_file_later(
		c, agent_file_swap(c, f, registry_name_of(c, id), registry_text_of(c, *out)));
}

enum err registry_find_in(struct call *c, struct agent_files *f, const struct map *history,
			  struct str id, struct registered **out)
{
	bool there;
	enum err e = registry_read_file(c, f, id, &there, out);

	return e || *out ? e : registry_restore(c, f, history, id, there, out);
}

enum err registry_join(struct call *c, struct agent_files *f, const struct map *history,
		       const struct registered *a)
{
	struct registered *here, now = *a;
	enum err e;

	if ((e = check_id(c, a->id)) || (e = check_words(c, a->display, a->role)) ||
	    (e = agent_files_begin(c, f)) || (e = registry_find_in(c, f, history, a->id, &here)))
		return e;
	if (here && here->seen_ms > now.seen_ms)
		now.seen_ms = here->seen_ms;
	if (here && str_eq(here->display, now.display) && str_eq(here->role, now.role) &&
	    here->created_ms == now.created_ms && here->seen_ms == now.seen_ms &&
	    str_eq(here->machine, now.machine))
		return ERR_OK;
	now.status = here ? here->status : now.status.n ? now.status : STR("idle");
	now.version = VERSION;
	if ((!here || here->created_ms != now.created_ms || !str_eq(here->role, now.role) ||
	     !str_eq(here->display, now.display) || !str_eq(here->machine, now.machine)) &&
	    (e = agent_file_append(c, f, history_file, registry_text_of(c, &now))))
		return e;
	return agent_file_later(c, registry_rewrite(c, f, &now));
}

enum err registry_lines(struct call *c, struct agent_files *f, struct str *lines, size_t *count)
{
	struct buf out = { .mem = &c->mem };
	struct registered *a;
	struct str *ids;
	size_t all;
	bool there;
	enum err e = agent_files_list(c, f, STR("agents"), STR(".json"), &ids, &all);

	*count = 0;
	for (size_t i = 0; !e && i < all; i++) {
		if (!registry_id_valid(ids[i]) ||
		    (e = registry_read_file(c, f, ids[i], &there, &a)) || !a)
			continue;
		buf_put(&out, registry_text_of(c, a));
		++*count;
	}
	*lines = buf_str(&out);
	return e;
}

enum err registry_look_at(struct call *c, struct agent_files *f, struct str id,
			  enum registry_file *out)
{
	struct registered *a;
	bool there;
	enum err e = registry_read_file(c, f, id, &there, &a);

	*out = a ? REGISTRY_SOUND : there ? REGISTRY_DAMAGED : REGISTRY_MISSING;
	return e;
}

enum err registry_rewrite(struct call *c, struct agent_files *f, const struct registered *a)
{
	return agent_file_swap(c, f, registry_name_of(c, a->id), registry_text_of(c, a));
}

enum err registry_acted(struct call *c, struct agent_files *f, struct registered *a)
{
	return agent_file_later(c, registry_touch(c, f, a));
}

enum err registry_touch(struct call *c, struct agent_files *f, struct registered *a)
{
	if (c->now_ms > a->seen_ms)
		a->seen_ms = c->now_ms;
	return agent_file_swap(c, f, registry_name_of(c, a->id), registry_text_of(c, a));
}

static bool seen_lately(struct call *c, struct agent_files *f, struct str id, int64_t least_ms,
			struct registered **out)
{
	bool there;

	if (registry_read_file(c, f, id, &there, out) || !there ||
	    (!*out && registry_look_up(c, f, id, out)))
		return true;
	return !*out || c->now_ms - (*out)->seen_ms < least_ms;
}

void registry_saw(struct call *c, const struct agent_files *f, struct str id, int64_t least_ms)
{
	struct call own = call_part(c); /* a failure here is no failure of the command */
	struct agent_files files = *f;
	struct registered *a;

	if (!f->home.p || !registry_id_valid(id))
		return;
	if (!seen_lately(&own, &files, id, least_ms, &a) && !agent_files_lock(&own, &files)) {
		if (!seen_lately(&own, &files, id, 1, &a))
			registry_touch(&own, &files, a);
		agent_files_close(&files);
	}
	call_release(&own);
}

void registered_encode(struct json *j, struct call *c, const struct registered *a,
		       const struct stuck *stuck)
{
	enum liveness liveness = liveness_of(a->seen_ms, c->now_ms, c->stale_minutes);

	json_object(j);
	put_record(j, a);
	json_put_word(j, "liveness", &liveness_words, liveness);
	if (stuck)
		stuck_put(j, c, stuck);
	json_end(j);
}
