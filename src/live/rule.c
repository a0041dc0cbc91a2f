#include "live/rule.h"

#include "base/hash.h"
#include "base/moment.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/lock.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "store/exposed.h"
#include "store/user_folder.h"

const struct names rule_events =
	NAMES_OF("bead.created", "bead.claimed", "bead.commented", "bead.opened", "bead.closed",
		 "bead.changed", "bead.deleted", "bead.*", "mail", "reservation", "protocol",
		 "agent", "post", "artifact", "note");

/* --- files --- */

/* Named after the Git directory, because the store may move. */
enum err rule_folder(struct call *c, struct str *out)
{
	enum { DIGITS = 32 };
	struct str key;
	struct beads b;
	enum err e = beads_open(c, BEADS_READ, &b);

	if (e)
		return e;
	key = path_real(&c->mem, b.repo.common.p ? b.repo.common : b.home);
	beads_close(&b);
	key = str_head(sha256_hex(&c->mem, key), DIGITS);
	return user_folder_state(c, path_join(&c->mem, STR("on"), key), out);
}

static struct str rule_file(struct call *c, struct str folder, int64_t n, const char *what)
{
	return path_join(&c->mem, folder, arena_fmt(&c->mem, "%lld.%s", (long long)n, what));
}

struct str rule_lock(struct call *c, struct str folder, int64_t n)
{
	return rule_file(c, folder, n, "lock");
}

void rule_encode(struct json *j, const struct rule *r)
{
	json_object(j);
	json_put_int(j, "rule", r->n);
	json_put_str(j, "event", r->event);
	json_put_strs(j, "labels", r->labels, r->label_count);
	json_put_strs(j, "command", r->command, r->words);
	json_put_str(j, "by", r->by);
	json_put_moment(j, "added_at", r->added_ms);
	json_end(j);
}

static struct str *rule_read_list(struct call *c, const struct value *v, size_t *count)
{
	size_t most = v && v->type == VALUE_ARRAY ? v->count : 0;
	struct str *list = arena_array(&c->mem, most + 1, sizeof *list);

	for (size_t i = 0; i < most; i++)
		list[i] = value_text(&v->item[i]);
	*count = most;
	return list;
}

/* False: the file is incomplete, or another program wrote it. */
static bool rule_decode(struct call *c, struct str text, struct rule *out)
{
	const struct value *v = text.p ? value_read(&c->mem, text) : NULL;

	*out = (struct rule){ .event = value_str(v, "event"), .by = value_str(v, "by") };
	out->labels = rule_read_list(c, value_find(v, "labels"), &out->label_count);
	out->command = rule_read_list(c, value_find(v, "command"), &out->words);
	for (size_t i = 0; i < out->words; i++)
		if (!out->command[i].p)
			return false;
	moment_parse(value_str(v, "added_at"), &out->added_ms);
	return value_int(v, "rule", &out->n) && out->words && out->command[0].n &&
	       names_has(&rule_events, out->event);
}

struct rule_numbers {
	int64_t n[RULES_MOST];
	size_t count;
	int64_t last; /* the highest number ever used: its lock file is kept */
};

static void rule_see(void *arg, struct str name)
{
	struct rule_numbers *all = arg;
	struct str number;
	size_t at;
	int64_t n;

	if (!str_next(&name, '.', &number) || !number_int(number, &n) || n < 1)
		return;
	all->last = n > all->last ? n : all->last;
	if (!str_is(name, "json") || all->count == RULES_MOST)
		return;
	for (at = all->count++; at && all->n[at - 1] > n; at--)
		all->n[at] = all->n[at - 1];
	all->n[at] = n;
}

enum err rule_each(struct call *c, struct rule **out)
{
	struct rule_numbers all = { 0 };
	struct str folder, text;
	enum err e;

	*out = NULL;
	if ((e = rule_folder(c, &folder)) || !file_is_dir(&c->mem, folder) ||
	    (e = file_each(c, folder, rule_see, &all)))
		return e;
	for (size_t i = 0; i < all.count; i++) {
		struct rule *r = arena_new(&c->mem, struct rule);

		if ((e = exposed_read(c, rule_file(c, folder, all.n[i], "json"), &text)))
			return e;
		if (!rule_decode(c, text, r) || r->n != all.n[i])
			continue;
		*out = r;
		out = &r->next;
	}
	return ERR_OK;
}

enum err rule_add(struct call *c, struct rule *r)
{
	enum { WAIT_MS = 5000 };
	struct rule_numbers all = { 0 };
	struct sources now = { 0 };
	struct json j = json_new(&c->mem);
	struct str folder;
	AUTO_LOCK lock = LOCK_NONE;
	enum err e;

	if ((e = rule_folder(c, &folder)) || (e = file_make_dir(c, folder, 0700)) ||
	    (e = exposed_lock(c, path_join(&c->mem, folder, STR("lock")), WAIT_MS, &lock)) ||
	    (e = file_each(c, folder, rule_see, &all)))
		return e;
	if (all.count == RULES_MOST)
		return call_fail(c, ERR_INVALID_INPUT, "there are %d rules already", RULES_MOST);
	r->n = all.last + 1;
	r->added_ms = c->now_ms;
	sources_begin(c, &now);
	rule_encode(&j, r);
	/* The place is written first: a rule without a place would run for all past changes. */
	if (!(e = rule_put_place(c, folder, r->n, &now, c->now_ms)))
		e = file_own_replace(c, rule_file(c, folder, r->n, "json"), json_text(&j), 0600);
	arena_release(&now.mem);
	return e;
}

enum err rule_remove(struct call *c, int64_t n)
{
	struct rule *r;
	struct str folder;
	enum err e = rule_each(c, &r);

	while (!e && r && r->n != n)
		r = r->next;
	if (e || !r) {
		if (!e)
			e = call_fail(c, ERR_NOT_FOUND, "there is no rule %lld", (long long)n);
		return c->code == ERR_NOT_FOUND ? call_step(c, "'abacus on' lists the rules.") : e;
	}
	if ((e = rule_folder(c, &folder)) ||
	    (e = file_remove_durably(c, rule_file(c, folder, n, "place"))))
		return e;
	call_stored(c, STORED_PART);
	return file_remove_durably(c, rule_file(c, folder, n, "json"));
}

/* --- places --- */

bool rule_place(struct call *c, struct str folder, int64_t n, struct sources *out, int64_t *at_ms)
{
	const struct value *v;
	struct str text;

	*at_ms = 0;
	if (exposed_read(c, rule_file(c, folder, n, "place"), &text) || !text.p ||
	    !(v = value_read(&c->mem, text)) || !value_int(v, "at", at_ms)) {
		call_forgive(c);
		return false;
	}
	sources_decode(out, value_find(v, "known"));
	return true;
}

enum err rule_put_place(struct call *c, struct str folder, int64_t n, const struct sources *s,
			int64_t at_ms)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_int(&j, "at", at_ms);
	json_put_object(&j, "known");
	sources_encode(&j, s);
	json_end(&j);
	json_end(&j);
	return file_own_replace(c, rule_file(c, folder, n, "place"), json_text(&j), 0600);
}

/* --- events --- */

static bool rule_names(const struct rule *r, struct str name)
{
	return str_eq(r->event, name) ||
	       (str_is(r->event, "bead.*") && str_starts(name, STR("bead.")));
}

static struct str rule_actor(const struct value *v)
{
	static const char *const keys[] = { "from_agent", "agent_id", "by", "agent_name", "agent" };
	struct str by = STR_NONE;

	for (size_t i = 0; !by.p && i < sizeof keys / sizeof *keys; i++)
		by = value_str(v, keys[i]);
	return by;
}

void rule_match_each(struct call *c, const struct rule *r, const char *type, struct str data,
		     rule_match *match, void *arg)
{
	const struct value *v = value_read(&c->mem, data), *acts = value_find(v, "acts");
	struct rule_event one = { .name = str_of(type), .data = data };

	if (strcmp(type, "bead") != 0) {
		one.bead = value_str(v, "bead_id");
		one.by = rule_actor(v);
		if (rule_names(r, one.name))
			match(arg, &one);
		return;
	}
	VALUE_EACH(item, acts) {
		one.name = arena_fmt(&c->mem, "bead." STR_FMT, STR_ARG(value_str(item, "what")));
		one.bead = value_str(item, "id");
		one.by = value_str(item, "by");
		if (rule_names(r, one.name))
			match(arg, &one);
	}
}

struct str rule_input(struct call *c, const struct rule *r, const struct rule_event *event)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_str(&j, "event", event->name);
	json_put_str(&j, "bead_id", event->bead);
	json_put_str(&j, "by", event->by);
	json_put_int(&j, "rule", r->n);
	json_put_raw(&j, "change", event->data);
	json_end(&j);
	buf_char(&j.out, '\n');
	return buf_str(&j.out);
}
