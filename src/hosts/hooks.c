#include "hosts/hooks.h"

#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/toml.h"
#include "base/text/value.h"
#include "hosts/jsonc.h"

#define OURS " vybe hook handle --host "

struct str hooks_file(struct call *c, enum host_id host, enum host_scope scope, struct str root)
{
	const struct host *h = host_row(host);
	const char *file = scope == HOST_USER ? h->hooks.user : h->hooks.project;

	if (!file)
		return STR_NONE;
	return path_join(&c->mem, scope == HOST_USER ? path_home() : root, str_of(file));
}

/* --- JSON files --- */

static struct str command_of(struct call *c, const struct hooks_entry *entry)
{
	const char *called = host_row(entry->host)->hooks.called;

	return arena_fmt(&c->mem, STR_FMT OURS "%s", STR_ARG(entry->command),
			 called ? called : names_word(&hosts, (int)entry->host));
}

/* Whether it is a command of the original vybe, `vybe hook session-start`, with any path. */
static bool is_original(struct str command)
{
	static const char *const words[] = {
		"session-start",  "session-end",   "prompt",         "tool-success",
		"tool-failure",   "checkpoint",    "task-completed", "retrospective",
		"subagent-start", "subagent-stop", "stop",           "retrospective-bg",
	};
	const char *at = str_find(command, STR(" hook "));
	struct str program, word;

	if (!at)
		return false;
	program = str_head(command, (size_t)(at - command.p));
	word = str_trim(str_skip(command, program.n + 6));
	if (str_ends(program, STR("\"")) || str_ends(program, STR("'")))
		program.n--;
	if (!str_ends(program, STR("vybe")) ||
	    (program.n > 4 && !strchr("/\"'", program.p[program.n - 5])))
		return false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (str_is(word, words[i]))
			return true;
	return false;
}

static bool hooks_ours(const struct value *v)
{
	struct str command = value_str(v, "command");

	return str_has(command, STR(OURS)) || is_original(command);
}

/* Counts our entries in a list, and those of others. */
static size_t ours_among(const struct value *list, size_t *others)
{
	size_t count = 0;

	*others = 0;
	for (size_t i = 0; list && list->type == VALUE_ARRAY && i < list->count; i++)
		++*(hooks_ours(&list->item[i]) ? &count : others);
	return count;
}

/* The group without our entries. */
static void put_others(struct json *j, const struct value *group)
{
	json_object(j);
	VALUE_EACH(m, group) {
		json_key(j, m->key);
		if (!str_is(m->key, "hooks")) {
			json_value(j, m);
			continue;
		}
		json_array(j);
		VALUE_EACH(one, m)
			if (!hooks_ours(one))
				json_value(j, one);
		json_end(j);
	}
	json_end(j);
}

/* Writes an event's entry without our hooks; false: the entry has no others. */
static bool keep_others(struct json *j, const struct value *entry)
{
	size_t others, mine = ours_among(value_find(entry, "hooks"), &others);

	if (hooks_ours(entry) || (mine && !others))
		return false;
	if (mine)
		put_others(j, entry);
	else
		json_value(j, entry);
	return true;
}

static void put_entry(struct call *c, struct json *j, const struct hooks_entry *entry,
		      const struct hook *hook)
{
	const struct host *host = host_row(entry->host);

	json_object(j);
	if (host->hooks.shape == HOOKS_GROUPS) {
		if (hook->matcher)
			json_put_str(j, "matcher", str_of(hook->matcher));
		json_put_array(j, "hooks");
		json_object(j);
		json_put_str(j, "type", STR("command"));
	}
	json_put_str(j, "command", command_of(c, entry));
	if (host->hooks.shape == HOOKS_GROUPS) {
		json_put_int(j, "timeout", host->hooks.timeout);
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

/*
 * The event's list of entries: those of others, and ours if `with`. Absent: the list would be
 * empty.
 */
static enum err event_list(struct call *c, struct str text, const struct hook *hook,
			   const struct hooks_entry *entry, bool with, struct str *out)
{
	struct call part = call_part(c);
	const struct value *all, *list;
	struct json j = json_new(&c->mem);
	size_t count = 0;
	enum err e = jsonc_parse(&part, text, &all);

	if (e)
		return call_part_end(c, &part, e);
	list = value_find(value_find(all, "hooks"), hook->event);
	if (list && list->type != VALUE_ARRAY)
		e = call_fail(&part, ERR_INVALID_INPUT, "'hooks.%s' is not a list", hook->event);
	if (e)
		return call_part_end(c, &part, e);
	json_array(&j);
	VALUE_EACH(one, list)
		count += keep_others(&j, one);
	if (with) {
		put_entry(c, &j, entry, hook);
		count++;
	}
	json_end(&j);
	*out = count ? json_text(&j) : STR_NONE;
	return call_part_end(c, &part, ERR_OK);
}

static bool has_ours(const struct value *list)
{
	size_t others;

	VALUE_EACH(one, list)
		if (hooks_ours(one) || ours_among(value_find(one, "hooks"), &others))
			return true;
	return false;
}

static enum err edit_json(struct call *c, struct str text, const struct hooks_entry *entry,
			  bool with, struct str *out)
{
	static const char *const version[] = { "version", NULL };
	const struct value *before;
	enum err e = ERR_OK;

	*out = text;
	if ((e = jsonc_parse(c, text, &before)))
		return e;
	if (with && host_row(entry->host)->hooks.shape == HOOKS_LIST &&
	    !value_find(before, "version") && (e = jsonc_put(c, *out, version, STR("1"), out)))
		return e;
	for (const struct hook *h = host_row(entry->host)->hooks.event; !e && h->event; h++) {
		const char *const path[] = { "hooks", h->event, NULL };
		struct str list;

		if ((e = event_list(c, *out, h, entry, with, &list)))
			return e;
		if (!with && !has_ours(value_find(value_find(before, "hooks"), h->event)))
			continue;
		if (list.p)
			e = jsonc_put(c, *out, path, list, out);
		else
			e = jsonc_remove(c, *out, path, out);
	}
	return e;
}

enum change { INSTALLED, UPDATED, SKIPPED };

static enum change hooks_change_of(struct call *c, const struct value *before,
				   const struct value *after)
{
	struct json was = json_new(&c->mem), is = json_new(&c->mem);

	if (!before || !after)
		return before ? UPDATED : after ? INSTALLED : SKIPPED;
	json_value(&was, before);
	json_value(&is, after);
	if (str_eq(json_text(&was), json_text(&is)))
		return SKIPPED;
	return has_ours(before) ? UPDATED : INSTALLED;
}

void hooks_changes(struct call *c, enum host_id host, struct str before, struct str after,
		   struct json *j)
{
	static const char *const lists[] = { "installed", "updated", "skipped" };
	const struct value *was, *is;

	if (jsonc_parse(c, before, &was))
		was = NULL;
	if (jsonc_parse(c, after, &is))
		is = NULL;
	call_forgive(c);
	for (int i = INSTALLED; i <= SKIPPED; i++) {
		json_put_array(j, lists[i]);
		for (const struct hook *h = host_row(host)->hooks.event; h->event; h++)
			if ((int)hooks_change_of(c, value_find(value_find(was, "hooks"), h->event),
						 value_find(value_find(is, "hooks"), h->event)) ==
			    i)
				json_str(j, str_of(h->event));
		json_end(j);
	}
}

/* --- a section of TOML, at the end of the file --- */

#define BEGIN "# >>> abacus hooks >>>\n"
#define END   "# <<< abacus hooks <<<\n"

static struct str without_section(struct call *c, struct str text)
{
	const char *from = text.p ? str_find(text, STR(BEGIN)) : NULL,
		   *to = from ? str_find(text, STR(END)) : NULL;
	struct buf b = { .mem = &c->mem };

	if (!to)
		return text;
	buf_put(&b, (struct str){ text.p, (size_t)(from - text.p) });
	buf_put(&b, str_skip(text, (size_t)(to - text.p) + sizeof END - 1));
	return buf_str(&b);
}

/* A file that does not parse is left alone. */
static enum err check_toml(struct call *c, struct str text)
{
	struct str found;

	return text.p ? toml_find(c, text, STR("abacus"), &found) : ERR_OK;
}

static struct str toml_section(struct call *c, struct str text, const struct hooks_entry *entry)
{
	struct json command = json_new(&c->mem);
	struct buf b = { .mem = &c->mem };

	json_str(&command, command_of(c, entry));
	buf_put(&b, text);
	if (b.n && b.p[b.n - 1] != '\n')
		buf_char(&b, '\n');
	buf_put(&b, STR(BEGIN));
	for (const struct hook *h = host_row(entry->host)->hooks.event; h->event; h++)
		buf_fmt(&b, "[[hooks]]\nevent = \"%s\"\ncommand = %s\ntimeout = %d\n", h->event,
			json_text(&command).p, host_row(entry->host)->hooks.timeout);
	buf_put(&b, STR(END));
	return buf_str(&b);
}

/* --- a plugin --- */

static const char plugin[] =
	"// Made by 'vybe hook install'; 'vybe hook uninstall' removes it.\n"
	"import { spawnSync } from \"node:child_process\";\n"
	"\n"
	"const call = (event, session_id, cwd, more) => {\n"
	"  const input = JSON.stringify({ hook_event_name: event, session_id, cwd, ...more });\n"
	"  const done = spawnSync(\"/bin/sh\", [\"-c\", COMMAND], { input, timeout: 2000 });\n"
	"  return done.stdout ? done.stdout.toString() : \"\";\n"
	"};\n"
	"\n"
	"export const Abacus = async ({ directory }) => {\n"
	"  const known = new Set(), created = new Set(), children = new Set();\n"
	"  const lost = new Map(); // briefs of sessions whose context was compacted\n"
	"  const begin = (id, source) => {\n"
	"    known.add(id);\n"
	"    return call(\"SessionStart\", id, directory, { source });\n"
	"  };\n"
	"  return {\n"
	"    // A part of the user's message stays in the session's history, as long as that is not compacted.\n"
	"    \"chat.message\": async (input, output) => {\n"
	"      const id = input.sessionID, message = output.message, last = output.parts.at(-1);\n"
	"      if (!id || children.has(id) || !last) return;\n"
	"      const prompt = output.parts.map((p) => (p.type === \"text\" ? p.text : \"\")).join(\"\");\n"
	"      const first = known.has(id) ? lost.get(id) ?? \"\" : begin(id, created.has(id) ? \"startup\" : \"resume\");\n"
	"      const text = first + call(\"UserPromptSubmit\", id, directory, { prompt });\n"
	"      lost.delete(id);\n"
	"      if (text)\n"
	"        output.parts.push({ id: last.id + \"a\", sessionID: id, messageID: message.id, type: \"text\", text, synthetic: true });\n"
	"    },\n"
	"    // An error refuses the call, and is what the model reads.\n"
	"    \"tool.execute.before\": async (input, output) => {\n"
	"      const id = input.sessionID;\n"
	"      if (!id) return;\n"
	"      const text = call(\"PreToolUse\", id, directory, { tool_name: input.tool, tool_input: output?.args });\n"
	"      if (text) throw new Error(text);\n"
	"    },\n"
	"    \"tool.execute.after\": async (input, output) => {\n"
	"      const id = input.sessionID;\n"
	"      if (!id || children.has(id)) return;\n"
	"      const text = call(\"PostToolUse\", id, directory, { tool_name: input.tool });\n"
	"      if (!text || !output) return;\n"
	"      if (Array.isArray(output.content)) output.content.push({ type: \"text\", text });\n"
	"      else if (typeof output.output === \"string\") output.output += \"\\n\" + text;\n"
	"    },\n"
	"    \"experimental.session.compacting\": async (input) => {\n"
	"      call(\"PreCompact\", input.sessionID, directory);\n"
	"    },\n"
	"    \"experimental.chat.system.transform\": async (input, output) => {\n"
	"      if (lost.has(input.sessionID)) output.system.push(lost.get(input.sessionID));\n"
	"    },\n"
	"    event: async ({ event }) => {\n"
	"      const info = event.properties?.info, id = event.properties?.sessionID ?? info?.id;\n"
	"      if (event.type === \"session.created\") (info?.parentID ? children : created).add(id);\n"
	"      if (event.type === \"session.compacted\" && known.has(id)) lost.set(id, begin(id, \"compact\"));\n"
	"      if (event.type === \"session.deleted\" && known.delete(id)) call(\"SessionEnd\", id, directory);\n"
	"    },\n"
	"  };\n"
	"};\n";

static struct str plugin_text(struct call *c, const struct hooks_entry *entry)
{
	struct json command = json_new(&c->mem);
	struct str text = str_of(plugin), word = STR("COMMAND");
	const char *at = str_find(text, word);

	json_str(&command, command_of(c, entry));
	return arena_fmt(&c->mem, "%.*s%s%s", (int)(at - text.p), text.p, json_text(&command).p,
			 at + word.n);
}

/* --- all hosts --- */

static enum err hooks_add(struct call *c, struct str text, const void *arg, struct str *out)
{
	const struct hooks_entry *entry = arg;
	enum err e;

	switch (host_row(entry->host)->hooks.shape) {
	case HOOKS_TOML:
		if ((e = check_toml(c, text)))
			return e;
		*out = toml_section(c, without_section(c, text), entry);
		return ERR_OK;
	case HOOKS_PLUGIN:
		*out = plugin_text(c, entry);
		return ERR_OK;
	default:
		return edit_json(c, text, entry, true, out);
	}
}

static enum err hooks_drop(struct call *c, struct str text, const void *arg, struct str *out)
{
	const struct hooks_entry *entry = arg;

	switch (host_row(entry->host)->hooks.shape) {
	case HOOKS_TOML:
		*out = without_section(c, text);
		return ERR_OK;
	case HOOKS_PLUGIN:
		*out = str_has(text, STR(OURS)) ? STR_NONE : text;
		return ERR_OK;
	default:
		return edit_json(c, text, entry, false, out);
	}
}

struct install_edit hooks_edit(const struct hooks_entry *entry)
{
	return (struct install_edit){ hooks_add, hooks_drop, entry };
}

bool hooks_there(struct call *c, enum host_id host, enum host_scope scope, struct str root)
{
	struct str path = hooks_file(c, host, scope, root), text;
	bool there = path.p && (scope == HOST_USER || !install_check(c, path, root)) &&
		     !file_read_regular(c, path, &text) && text.p && str_has(text, STR(OURS));

	call_forgive(c);
	return there;
}

/* --- answers --- */

bool hooks_heard(enum host_id host, struct str event)
{
	for (const struct hook *h = host_row(host)->hooks.event; h->event; h++)
		if (str_is(event, h->event))
			return h->heard == HEARD;
	return false;
}

struct str hooks_answer(struct call *c, enum host_id host, struct str event, struct str text)
{
	struct json j = json_new(&c->mem);
	bool wanted = text.n && hooks_heard(host, event);

	if (host_row(host)->hooks.answer == ANSWER_TEXT)
		return wanted ? text : STR_NONE;
	if (host_row(host)->hooks.answer == ANSWER_CURSOR) {
		json_object(&j);
		if (wanted)
			json_put_str(&j, "additional_context", text);
		if (str_is(event, "beforeSubmitPrompt"))
			json_put_bool(&j, "continue", true);
		json_end(&j);
		return json_text(&j);
	}
	if (!wanted)
		return STR_NONE;
	json_object(&j);
	if (host_row(host)->hooks.answer == ANSWER_BOTH)
		json_put_str(&j, "additionalContext", text);
	json_put_object(&j, "hookSpecificOutput");
	json_put_str(&j, "hookEventName", event);
	json_put_str(&j, "additionalContext", text);
	json_end(&j);
	json_end(&j);
	return json_text(&j);
}
