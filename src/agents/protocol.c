#include "agents/protocol.h"

#include "agents/registry.h"
#include "base/id.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/names.h"
#include "base/text/json.h"
#include "base/text/value.h"

const struct names event_types =
	NAMES_OF([EVENT_HANDOFF] = "HANDOFF", [EVENT_BLOCKED] = "BLOCKED",
		 [EVENT_INCURSION] = "INCURSION", [EVENT_RESUME] = "RESUME");

const char *event_label(enum event_type type)
{
	static const char *const labels[] = {
		[EVENT_HANDOFF] = "Passed to",
		[EVENT_BLOCKED] = "Needs input",
		[EVENT_INCURSION] = "Incursion",
		[EVENT_RESUME] = "Resumed",
	};

	return labels[type];
}

static const struct str file = { "events.jsonl", 12 };

const struct names urgencies =
	NAMES_OF([URGENCY_LOW] = "low", [URGENCY_MEDIUM] = "medium", [URGENCY_HIGH] = "high");

enum err urgency_parse(struct call *c, struct str word, int *out)
{
	*out = word.p ? names_exact(&urgencies, word) : -1;
	if (word.p && *out < 0)
		return call_fail(c, ERR_INVALID_INPUT,
				 "the urgency must be low, medium or high, not '" STR_FMT "'",
				 STR_ARG(word));
	return ERR_OK;
}

const struct names resume_reasons =
	NAMES_OF([RESUME_UNCOMMITTED] = "uncommitted_scope", [RESUME_IN_PROGRESS] =
								     "in_progress_ownership");

static enum err protocol_missing(struct call *c, const char *what)
{
	return call_fail(c, ERR_INVALID_INPUT, "the event has no %s", what);
}

static enum err protocol_check(struct call *c, const struct protocol_event *event)
{
	if (event->type == EVENT_INCURSION)
		return event->action.n && event->from.n && event->to.n ?
			       ERR_OK :
			       protocol_missing(c, "owner or hint");
	if (event->type == EVENT_RESUME)
		return event->text.n && event->from.n && event->to.n ?
			       ERR_OK :
			       protocol_missing(c, "agent or evidence");
	if (!str_trim(event->subject).n)
		return protocol_missing(c, "subject");
	if (!str_trim(event->text).n)
		return protocol_missing(c, event->type == EVENT_HANDOFF ? "summary" : "blocker");
	if (!str_trim(event->action).n)
		return protocol_missing(c, "next action");
	return ERR_OK;
}

static void put_payload(struct json *j, const struct protocol_event *event)
{
	bool handoff = event->type == EVENT_HANDOFF;

	json_put_object(j, "payload");
	if (event->type == EVENT_INCURSION) {
		json_put_word(j, "incursion_kind", &overlaps, event->overlap);
		json_put_str(j, "owner_agent", event->to);
		json_put_str(j, "incoming_agent", event->from);
		json_put_word(j, "owner_liveness", &liveness_words, event->owner);
		json_put_str(j, "resolution_hint", event->action);
		json_end(j);
		return;
	}
	if (event->type == EVENT_RESUME) {
		json_put_word(j, "resume_reason", &resume_reasons, event->reason);
		json_put_str(j, "prior_session_agent", event->to);
		json_put_str(j, "adopted_agent", event->from);
		json_put_str(j, "evidence", event->text);
		json_end(j);
		return;
	}
	json_put_str(j, "subject", event->subject);
	json_put_str(j, handoff ? "summary" : "blocker", event->text);
	json_put_str(j, handoff ? "next_action" : "requested_action", event->action);
	if (!handoff)
		json_put_word(j, "urgency", &urgencies, event->urgency);
	json_put_bool(j, "requires_ack", true);
	json_end(j);
}

/* The mark ends the event's id; this is that end, with the text after it in the line. */
static struct str protocol_mark_text(struct call *c, struct str mark)
{
	return arena_fmt(&c->mem, "_" STR_FMT "\",\"version\"", STR_ARG(mark));
}

enum err protocol_find(struct call *c, struct agent_files *f, struct str mark,
		       const struct value **out)
{
	struct str text, line, end = protocol_mark_text(c, mark);
	enum err e = agent_file_read(c, f, file, &text);

	*out = NULL;
	while (!e && !*out && text.n && str_next(&text, '\n', &line))
		if (str_has(line, end))
			*out = value_read(&c->mem, line);
	return e;
}

static void protocol_note_marks(struct str text, struct map *marks)
{
	struct str end = STR("\",\"version\""), line;

	while (str_next(&text, '\n', &line)) {
		const char *at = str_find(line, end);
		struct str id = at ? str_head(line, (size_t)(at - line.p)) : STR_NONE;
		const char *last = str_find_last(id, '_');
		void **found =
			last ? map_find(marks, str_skip(id, (size_t)(last - id.p) + 1)) : NULL;

		if (found)
			*found = marks;
	}
}

enum err protocol_find_marks(struct call *c, struct agent_files *f, struct map *marks)
{
	int64_t from = 0;
	struct str text;
	enum err e;

	do {
		struct call part = call_part(c);

		if (!(e = agent_file_read_part(&part, f, file, &from, &text)))
			protocol_note_marks(text, marks);
		e = call_part_end(c, &part, e);
	} while (!e && text.n);
	return e;
}

enum err protocol_line(struct call *c, struct agent_files *f, const struct protocol_event *event,
		       struct agent_append *out)
{
	struct json j = json_new(&c->mem);
	struct str mark = event->mark.p ? event->mark : id_random(&c->mem, 16), text;
	bool search = event->mark.p && !event->first;
	enum err e = protocol_check(c, event);

	*out = (struct agent_append){ .name = file };
	if (e || (search && (e = agent_file_read(c, f, file, &text))))
		return e;
	if (search && str_has(text, protocol_mark_text(c, mark)))
		return ERR_OK;
	json_object(&j);
	json_put_str(&j, "id", id_mint_as(&c->mem, "proto", c->now_ms, mark));
	json_put_str(&j, "version", STR("v1"));
	json_put_word(&j, "event_type", &event_types, event->type);
	json_put_str(&j, "project_root", f->root);
	json_put_str(&j, "bead_id", event->bead);
	json_put_str(&j, "from_agent", event->from);
	json_put_str(&j, "to_agent", event->to);
	json_put_str(&j, "scope", event->scope);
	json_put_str(&j, "created_at", moment_format(&c->mem, c->now_ms));
	put_payload(&j, event);
	json_end(&j);
	buf_char(&j.out, '\n');
	out->lines = buf_str(&j.out);
	return ERR_OK;
}

enum err protocol_record(struct call *c, struct agent_files *f, const struct protocol_event *event)
{
	struct agent_append line;
	enum err e = protocol_line(c, f, event, &line);

	return e || !line.lines.p ? e : agent_file_append(c, f, line.name, line.lines);
}

/* --- reading --- */

bool protocol_line_valid(struct call *c, struct str line)
{
	return value_str(agent_line_parse(&c->mem, line), "event_type").p;
}

static bool protocol_fits(const struct value *v, const struct protocol_filter *filter)
{
	struct str to = value_str(v, "to_agent"), bead = value_str(v, "bead_id"), role;

	return (!filter->bead.p || str_eq(filter->bead, bead) ||
		(filter->or_bead.n && str_eq(filter->or_bead, bead))) &&
	       (filter->type < 0 ||
		names_exact(&event_types, value_str(v, "event_type")) == filter->type) &&
	       (!filter->agent.p || str_eq(filter->agent, value_str(v, "from_agent")) ||
		str_eq(filter->agent, to) || recipient_parse(to, &role) != RECIPIENT_AGENT);
}

/* Few events are of one type, and most lines need not be parsed to see that. */
static bool protocol_may_fit(struct str line, const struct protocol_filter *filter)
{
	return filter->type < 0 || str_has(line, str_of(names_word(&event_types, filter->type)));
}

enum err protocol_each(struct call *c, struct agent_files *f, const struct protocol_filter *filter,
		       struct json *out)
{
	struct arena text = { 0 }, parsed = { 0 };
	struct lines_back back = { .f = f, .name = file, .mem = &text };
	struct agent_skips skips = { 0 };
	int64_t left = filter->limit;
	struct str line;
	enum err e = ERR_OK;

	json_array(out);
	while (left && !(e = lines_back(c, &back, &line)) && line.p) {
		const struct value *v;

		if (!protocol_may_fit(line, filter))
			continue;
		v = agent_line_parse(&parsed, line);
		if (!value_str(v, "event_type").p) {
			if (!agent_line_blank(line))
				agent_skips_add(&skips, lines_back_at(&back));
		} else if (protocol_fits(v, filter)) {
			json_value(out, v);
			left--;
		}
		arena_reset(&parsed);
	}
	json_end(out);
	arena_release(&text);
	arena_release(&parsed);
	agent_skips_warn(c, f, file, &skips);
	return agent_file_pass_over(c, f, file, e);
}
