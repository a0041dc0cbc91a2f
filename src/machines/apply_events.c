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
	       moment_parse(value_str(f->data, "created_at"), &created) &&
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
	json_put_str(&j, "created_at", value_str(f->data, "created_at"));
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

/* The record is read once: an event that it has is left out. */
enum err apply_events(struct applying *k)
{
	struct str file = STR("events.jsonl"), text;
	struct buf lines = { .mem = &k->c->mem };
	struct map ids;
	struct fact *f;
	enum err e = apply_facts(k, STR("event"), STR_NONE, true, &f);

	if (e || !f || (e = agent_file_read(k->c, &k->files, file, &text)))
		return e;
	ids = event_ids(k, text);
	for (; f; f = f->next) {
		apply_done(k, f);
		if (!event_is_valid(f) || map_find(&ids, f->subject))
			continue;
		map_put(&ids, f->subject);
		buf_put(&lines, event_line(k, f));
		buf_char(&lines, '\n');
	}
	return lines.n ? agent_file_append(k->c, &k->files, file, buf_str(&lines)) : ERR_OK;
}
