#include "agents/forecast/forecast.h"
#include "agents/reservation_book.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"
#include "store/agent_files.h"

struct body {
	struct str id;
};

static const struct field fields[] = {
	ID_FIELD(struct body, id),
	{ 0 },
};

static const struct prop reserved_props[] = { { "scope agent_id expires_at", NULL }, { 0 } };

static const struct prop learned_props[] = { { "path commits:int reservations:int", NULL }, { 0 } };

static const struct prop props[] = {
	{ "id title declared[]", NULL },
	{ "reserved[]", reserved_props },
	{ "learned[]", learned_props },
	{ 0 },
};

/* How often commits changed a path, and how often it was reserved. */
struct learned {
	int64_t commits, reservations;
};

static struct learned *learned_put(struct map *paths, struct str path)
{
	void **one = map_put(paths, path);

	if (!*one)
		*one = arena_new(paths->mem, struct learned);
	return *one;
}

static void touches_put_declared(struct call *c, const struct bead *bead, struct json *reply)
{
	size_t count;
	struct str *scope = bead_touches(&c->mem, bead, &count);

	json_put_strs(reply, "declared", scope, count);
}

static void touches_put_reserved(struct call *c, const struct reservation *r, struct str id,
				 struct json *reply)
{
	json_put_array(reply, "reserved");
	for (; r; r = r->next) {
		if (!str_eq(r->bead, id))
			continue;
		json_object(reply);
		json_put_str(reply, "scope", r->scope);
		json_put_str(reply, "agent_id", r->agent);
		json_put_str(reply, "expires_at", moment_format(&c->mem, r->expires_ms));
		json_end(reply);
	}
	json_end(reply);
}

static enum err touches_learn_commits(struct call *c, struct commit_db *history, struct str id,
				      struct map *paths)
{
	struct commit_file *file = NULL;
	size_t count = 0;
	enum err e = history->db ? commit_db_touched(c, history, id, &file, &count) : ERR_OK;

	for (size_t i = 0; !e && i < count; i++)
		learned_put(paths, file[i].path)->commits = file[i].commits;
	return e;
}

/* Every reservation that was ever made for the bead has lines in the record, the first of them
 * when it was made. */
static enum err touches_learn_reservations(struct call *c, struct str id, struct map *paths)
{
	struct map seen = { .mem = &c->mem };
	struct str text = { 0 }, line;
	struct agent_files files;
	enum err e = agent_files_open(c, AGENTS_READ, &files);

	if (e)
		return e;
	if (files.home.p)
		e = book_read_record_leniently(c, &files, &text);
	while (!e && agent_line_next(&text, &line)) {
		const struct value *v = str_has(line, id) ? agent_line_parse(&c->mem, line) : NULL;
		struct str scope = value_str(v, "scope"), key,
			   made = value_str(v, "reservation_id");

		if (!str_eq(value_str(v, "bead_id"), id) || !scope.n || map_find(&seen, made) ||
		    scope_parse(&c->mem, files.root, scope, &key))
			continue;
		map_put(&seen, made);
		learned_put(paths, key.n ? key : STR("/"))->reservations++;
	}
	agent_files_close(&files);
	return e;
}

static void touches_put_learned(struct call *c, const struct map *paths, struct json *reply)
{
	const struct map_entry **sorted = map_sorted(paths, &c->mem);

	json_put_array(reply, "learned");
	for (size_t i = 0; i < paths->count; i++) {
		const struct learned *one = sorted[i]->value;

		json_object(reply);
		json_put_str(reply, "path", sorted[i]->key);
		json_put_int(reply, "commits", one->commits);
		json_put_int(reply, "reservations", one->reservations);
		json_end(reply);
	}
	json_end(reply);
}

static enum err bead_touches_run(struct call *c, struct stores *s, const void *body,
				 struct json *reply)
{
	const struct body *in = body;
	struct map paths = { .mem = &c->mem };
	struct forecast f;
	struct bead_row *row;
	struct edit edit;
	enum err e;

	if ((e = find_bead(c, s->beads, in->id, &row)) ||
	    (e = edit_begin(c, s->beads, row, &edit)) || (e = forecast_open(c, s->beads, &f)))
		return e;
	if (!(e = touches_learn_commits(c, &f.history, row->id, &paths)))
		e = touches_learn_reservations(c, row->id, &paths);
	forecast_close(&f);
	if (e)
		return e;
	json_object(reply);
	json_put_str(reply, "id", row->id);
	json_put_str(reply, "title", row->title);
	touches_put_declared(c, &edit.now, reply);
	touches_put_reserved(c, f.reservations, row->id, reply);
	touches_put_learned(c, &paths, reply);
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_touches = {
	.name = "bead touches",
	.help = "Show the files that a bead touches",
	.more = "'declared' has the scopes set with 'bd create --touches' and 'bd update "
		"--touches'; 'reserved' the scopes that agents have reserved for the bead now; "
		"'learned' the files of commits whose message names the bead (by its id, or by "
		"a line 'Bead: ID' at its end), and all scopes that were ever reserved for it.",
	.examples = "bd touches bd-a1b2\n"
		    "bd update bd-a1b2 --touches 'src/parser/*,doc/parser.md'",
	.flags = BEAD_READ,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "touches", props },
	.run = bead_touches_run,
};
