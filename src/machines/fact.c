#include "machines/fact.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/text/json.h"
#include "base/text/value.h"

static const char *const kind_words[] = {
	[FACT_AGENT_REGISTERED] = "agent.registered",
	[FACT_AGENT_SEEN] = "agent.seen",
	[FACT_MESSAGE_SENT] = "message.sent",
	[FACT_MESSAGE_READ] = "message.read",
	[FACT_MESSAGE_ACKED] = "message.acked",
	[FACT_RESERVATION_MADE] = "reservation.made",
	[FACT_RESERVATION_RELEASED] = "reservation.released",
	[FACT_RESERVATION_EXPIRED] = "reservation.expired",
	[FACT_EVENT] = "event",
	[FACT_POST] = "post",
	[FACT_STATUS] = "status",
	[FACT_ARTIFACT] = "artifact",
	[FACT_MEMORY_SET] = "memory.set",
	[FACT_MEMORY_DELETED] = "memory.deleted",
	[FACT_TASK_EVENT] = "task.event",
};
const struct names fact_kinds = { kind_words, FACT_KINDS, NULL };

struct str fact_global(struct arena *mem, struct str machine, int64_t number)
{
	return arena_fmt(mem, STR_FMT ":%lld", STR_ARG(machine), (long long)number);
}

struct str fact_memory_key(struct arena *mem, struct str scope, struct str id, struct str key)
{
	struct json j = json_new(mem);

	json_array(&j);
	json_str(&j, scope);
	json_str(&j, id);
	json_str(&j, key);
	json_end(&j);
	return json_text(&j);
}

static struct str fact_subject(struct arena *mem, const struct fact *f)
{
	int64_t number = 0;

	switch (f->kind) {
	case FACT_AGENT_REGISTERED:
	case FACT_AGENT_SEEN:
	case FACT_STATUS:
		return value_str(f->data, "agent");
	case FACT_ARTIFACT:
		return value_str(f->data, "path");
	case FACT_POST:
	case FACT_TASK_EVENT:
		return value_int(f->data, "id", &number) ? fact_global(mem, f->machine, number) :
							   STR_NONE;
	case FACT_MEMORY_SET:
	case FACT_MEMORY_DELETED:
		return value_str(f->data, "key").p ?
			       fact_memory_key(mem, value_str(f->data, "scope"),
					       value_str(f->data, "scope_id"),
					       value_str(f->data, "key")) :
			       STR_NONE;
	default:
		return value_str(f->data, "id");
	}
}

enum fact_form fact_parse(struct arena *mem, struct str machine, struct str line, struct fact *out)
{
	struct value_error error;
	const struct value *v = line.n <= FACT_LINE_MOST ?
					value_parse_bounded(mem, line, FACT_VALUES_MOST, &error) :
					NULL;
	struct str word = value_str(v, "kind");
	int kind;

	*out = (struct fact){ .machine = machine,
			      .by = value_str(v, "by"),
			      .data = value_find(v, "data"),
			      .over = value_find(v, "over"),
			      .line = line };
	if (!word.n || !value_int(v, "seq", &out->seq) || out->seq < 1 || !out->data ||
	    out->data->type != VALUE_OBJECT || out->by.n > FACT_NAME_MOST ||
	    value_depth(v) > VALUE_DATA_DEPTH || !stamp_decode(value_find(v, "at"), &out->at))
		return FACT_MALFORMED;
	kind = names_exact(&fact_kinds, word);
	if (kind < 0)
		return FACT_UNKNOWN;
	out->kind = (enum fact_kind)kind;
	out->subject = fact_subject(mem, out);
	return out->subject.n ? FACT_KNOWN : FACT_UNKNOWN;
}

struct str fact_line(struct arena *mem, const struct fact *f, struct str data)
{
	struct json j = json_new(mem);

	json_object(&j);
	json_name(&j, STR("at"));
	stamp_encode(&j, f->at);
	json_put_str(&j, "by", f->by.p ? f->by : STR(""));
	json_name(&j, STR("data"));
	json_canonical(&j, value_read(mem, data));
	json_put_word(&j, "kind", &fact_kinds, (int)f->kind);
	if (f->over) {
		json_name(&j, STR("over"));
		json_canonical(&j, f->over);
	}
	json_put_int(&j, "seq", f->seq);
	json_end(&j);
	return json_text(&j);
}

int fact_cmp(const struct fact *a, const struct fact *b)
{
	int order = stamp_cmp(a->at, b->at);

	if (!order)
		order = str_cmp(a->by, b->by);
	return order ? order : str_cmp(a->machine, b->machine);
}

struct str fact_digest(struct arena *mem, struct str line)
{
	return str_head(sha256_hex(mem, line), FACT_DIGEST);
}

static const struct value *fact_keep_members(struct arena *mem, const struct value *data,
					     const char *const *members)
{
	struct value *kept = arena_new(mem, struct value);
	size_t most = 0;

	while (members[most])
		most++;
	kept->type = VALUE_OBJECT;
	kept->item = arena_array(mem, most, sizeof *kept);
	for (; *members; members++) {
		const struct value *one = value_find(data, *members);

		if (!one || (one->type != VALUE_STRING && one->type != VALUE_NUMBER))
			continue;
		kept->item[kept->count++] = (struct value){ .key = str_of(*members),
							    .type = one->type,
							    .text = arena_copy(mem, one->text) };
	}
	return kept;
}

static const struct value *fact_keep_over(struct arena *mem, const struct value *over)
{
	struct json j = json_new(mem);

	if (!over || over->type != VALUE_ARRAY)
		return NULL;
	json_array(&j);
	VALUE_EACH(one, over)
		if (one->type == VALUE_STRING && one->text.n == FACT_DIGEST)
			json_str(&j, one->text);
	json_end(&j);
	return value_read(mem, json_text(&j));
}

struct fact *fact_keep(struct arena *mem, const struct fact *f, const char *const *members)
{
	struct fact *kept = arena_new(mem, struct fact);

	*kept = (struct fact){ .machine = arena_copy(mem, f->machine),
			       .seq = f->seq,
			       .at = f->at,
			       .by = arena_copy(mem, f->by),
			       .kind = f->kind,
			       .subject = arena_copy(mem, f->subject),
			       .data = fact_keep_members(mem, f->data, members),
			       .over = fact_keep_over(mem, f->over),
			       .digest = fact_digest(mem, f->line),
			       .done = f->done };
	return kept;
}

static void fact_note_over(const struct fact *f, struct map *out)
{
	VALUE_EACH(one, f->over)
		map_put(out, one->text);
}

const struct fact *fact_last(struct arena *mem, const struct fact *list)
{
	struct map machines = { .mem = mem }, over = { .mem = mem };
	const struct fact *last = NULL;

	for (; list; list = list->next) {
		const struct fact **of = (const struct fact **)map_put(&machines, list->machine);

		if (!*of || (*of)->seq < list->seq)
			*of = list;
	}
	for (size_t i = 0; i < machines.count; i++)
		fact_note_over(machines.entry[i].value, &over);
	for (size_t i = 0; i < machines.count; i++) {
		const struct fact *f = machines.entry[i].value;

		if ((!last || fact_cmp(f, last) > 0) && !map_find(&over, f->digest))
			last = f;
	}
	return last;
}
