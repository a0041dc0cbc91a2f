/* Puts protocol events of other machines into the record of events. */
#include <ctype.h>

#include "agents/protocol.h"
#include "base/id.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "machines/apply.h"

enum { NAME_MOST = 500 };

static bool event_text_fits(struct str text)
{
	return text.n <= NAME_MOST && !utf8_has_control(text);
}

static bool event_is_valid(const struct fact *f)
{
	const struct value *payload = value_find(f->data, "payload");
	struct str scope = value_str(f->data, "scope");
	int64_t created;

	return id_is_minted(f->subject, "proto") && payload && payload->type == VALUE_OBJECT &&
	       names_has(&event_types, value_str(f->data, "event_type")) &&
	       moment_parse(value_str(f->data, "created_at"), &created) && created > 0 &&
	       event_text_fits(value_str(f->data, "bead_id")) &&
	       event_text_fits(value_str(f->data, "from_agent")) &&
	       event_text_fits(value_str(f->data, "to_agent")) && scope.n <= 4096 &&
	       !utf8_has_control(scope);
}

/* The members in the order that protocol_line() writes. */
static struct str event_line(struct applying *k, const struct fact *f)
{
	static const char *const agents[] = { "from_agent", "to_agent" };
	struct json j = json_new(&k->c->mem);

	json_object(&j);
	json_put_str(&j, "id", f->subject);
	json_put_str(&j, "version", STR("v1"));
	json_put_str(&j, "event_type", value_str(f->data, "event_type"));
	json_put_str(&j, "project_root", k->files.root);
	json_put_str(&j, "bead_id", value_str(f->data, "bead_id"));
	for (size_t i = 0; i < 2; i++) {
		struct str name = value_str(f->data, agents[i]);

		json_put_str(&j, agents[i],
			     name.p ? registrations_name(&k->agents, f->machine, name) : name);
	}
	json_put_str(&j, "scope", value_str(f->data, "scope"));
	json_put_moment(&j, "created_at", apply_time_of(k, value_moment(f->data, "created_at")));
	json_name(&j, STR("payload"));
	json_value(&j, value_find(f->data, "payload"));
	json_put_str(&j, "machine", apply_machine(k, f->machine));
	json_put_str(&j, "via", f->machine);
	json_end(&j);
	return json_text(&j);
}

/* Everything in a record that looks like the id of an event. */
static struct map event_ids(struct applying *k, struct str text)
{
	struct map ids = { .mem = &k->c->mem };
	const struct str head = STR("proto_");
	const char *at;

	while ((at = str_find(text, head))) {
		struct str id = { at, 0 };

		text = str_skip(text, (size_t)(at - text.p));
		while (id.n < text.n && (id.p[id.n] == '_' || isalnum((unsigned char)id.p[id.n])))
			id.n++;
		map_put(&ids, id);
		text = str_skip(text, id.n);
	}
	return ids;
}

struct event_record {
	struct str name;
	struct map ids;   /* of the events that it has */
	struct map taken; /* by machine: the bytes of its lines */
	int64_t size;     /* with the lines to be appended */
	struct buf lines; /* to be appended */
};

/* The machine that a line came from: its last member, as event_line() writes it. */
static struct str event_line_via(struct str line)
{
	const struct str member = STR(",\"via\":\""), end = STR("\"}");
	enum { MACHINE = 16 }; /* the digits of an id */
	size_t n = member.n + MACHINE + end.n;
	struct str tail = line.n < n ? STR_NONE : str_skip(line, line.n - n);

	return str_starts(tail, member) && str_ends(tail, end) ?
		       str_head(str_skip(tail, member.n), MACHINE) :
		       STR_NONE;
}

/* A full record is not read: it may be too large to be read, and nothing can be added. */
static enum err event_record_read(struct applying *k, struct event_record *r)
{
	struct str text, line;
	enum err e = agent_file_size(k->c, &k->files, r->name, &r->size);

	if (e || r->size > AGENT_RECORD_FULL ||
	    (e = agent_file_read(k->c, &k->files, r->name, &text)))
		return e;
	r->ids = event_ids(k, text);
	while (agent_line_next(&text, &line)) {
		struct str via = event_line_via(line);

		if (via.n)
			*map_number(&r->taken, via) += (int64_t)line.n + 1;
	}
	return ERR_OK;
}

/*
 * The events of one other machine may fill a third of the record, and other machines write to its
 * first two thirds only. So no push can keep the agents of this machine from handing work over.
 */
static enum err event_add(struct applying *k, struct event_record *r, const struct fact *f)
{
	enum { THIRD = AGENT_RECORD_FULL / 3 };
	struct str line = event_line(k, f);
	int64_t *taken = map_number(&r->taken, f->machine), more = (int64_t)line.n + 1;

	if (*taken + more > THIRD || r->size + more > 2 * (int64_t)THIRD)
		return apply_leave_out(k, STR("the record of events"), "events", f->machine,
				       r->name);
	*taken += more;
	r->size += more;
	map_put(&r->ids, arena_copy(r->ids.mem, f->subject));
	buf_put(&r->lines, line);
	buf_char(&r->lines, '\n');
	return ERR_OK;
}

static enum err apply_event(struct applying *k, void *arg, const struct fact *f)
{
	struct event_record *r = arg;

	apply_done(k, f);
	return event_is_valid(f) && !map_find(&r->ids, f->subject) ? event_add(k, r, f) : ERR_OK;
}

/* The record is read once: an event that it has is left out. */
enum err apply_events(struct applying *k)
{
	struct map none = { .mem = &k->c->mem };
	struct event_record r = {
		.name = STR("events.jsonl"), .ids = none, .taken = none, .lines.mem = &k->c->mem
	};
	struct fact_filter open = { .kind = STR("event"), .open = true };
	bool any;
	enum err e = apply_has_open(k, "event", &any);

	if (e || !any || (e = event_record_read(k, &r)) ||
	    (e = apply_each(k, &open, apply_event, &r)) || !r.lines.n)
		return e;
	return agent_file_append(k->c, &k->files, r.name, buf_str(&r.lines));
}
