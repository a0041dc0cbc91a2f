#include "beads/exchange/export.h"

#include "base/map.h"
#include "base/system/spool.h"
#include "base/text/json.h"
#include "continuity/memory.h"
#include "ops/bead/bead_ops.h"
#include "ops/exchange/exchange_ops.h"
#include "ops/ops.h"
#include "store/output.h"

struct body {
	struct str output;
	int format;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "output", &kind_path, AT(output), FIELD_CLI, .letter = 'o', .arg = "FILE",
	  .help = "file to write (default: standard output)" },
	{ "format", &kind_word, AT(format), .words = &export_formats, .preset = "bd",
	  .help = "format: upstream's JSONL, Markdown or a table" },
	{ 0 },
};

static const struct prop props[] = {
	{ "issues:int tombstones:int memories:int file|null text|null", NULL },
	{ 0 },
};

/* Memories are lines of their own, as upstream's bd exports them. */
enum err exchange_add_memories(struct call *c, struct buf *out, int64_t *count)
{
	struct memory_where where = { .scope = SCOPE_GLOBAL, .id = STR("") };
	struct map lines = { .mem = &c->mem };
	const struct map_entry **order;
	struct memory_row *row = NULL;
	struct call before = call_save(c);
	struct continuity k;

	if (!continuity_open(c, VYBE_READ, &k)) {
		memory_each(c, &k, &where, INT64_MAX, &row);
		continuity_close(&k);
	}
	call_restore(c, &before);
	for (; row; row = row->next)
		*map_put(&lines, row->key) = row;
	order = map_sorted(&lines, &c->mem);
	*count = (int64_t)lines.count;
	for (size_t i = 0; i < lines.count; i++) {
		const struct memory_row *one = order[i]->value;
		struct json j = json_new(&c->mem);

		json_object(&j);
		json_put_str(&j, "_type", STR("memory"));
		json_put_str(&j, "key", one->key);
		json_put_str(&j, "value", one->value);
		json_end(&j);
		buf_put(out, json_text(&j));
		buf_char(out, '\n');
	}
	return ERR_OK;
}

static enum err exchange_write(struct call *c, struct str output, const struct buf *text)
{
	enum err e = output_write(c, output, text);

	if (e == ERR_UNSAFE_PATH)
		call_step(c, "Choose a path without links, for example: bd export -o export.jsonl");
	return e;
}

static enum err bead_export_run(struct call *c, struct stores *s, const void *body,
				struct json *reply)
{
	const struct body *in = body;
	struct spool spool = { 0 };
	struct buf file = { .mem = &c->mem, .spool = &spool };
	struct buf *text = in->output.p || !c->text ? &file : c->text;
	struct export_counts made;
	int64_t memories = 0;
	enum err e = export_all(c, s->beads, (enum export_format)in->format, text, &made);

	if (!e && in->format == EXPORT_BD)
		e = exchange_add_memories(c, text, &memories);
	if (!e && in->output.p)
		e = exchange_write(c, in->output, text);
	if (e) {
		spool_release(&spool);
		return e;
	}
	json_object(reply);
	json_put_int(reply, "issues", made.issues);
	json_put_int(reply, "tombstones", made.tombstones);
	json_put_int(reply, "memories", memories);
	json_put_str(reply, "file", in->output);
	json_put_str(reply, "text", in->output.p || c->text ? STR_NONE : buf_str(text));
	json_end(reply);
	spool_release(&spool);
	return ERR_OK;
}

const struct op op_bead_export = {
	.name = "bead export",
	.help = "Write all beads for other programs",
	.more = "Writes the JSONL of upstream's bd: one line per bead, sorted by id; deleted "
		"beads are tombstones. Everything that an import brought is written again. The "
		"same beads give the same bytes, and importing them here again changes nothing.",
	.examples = "bd export -o .beads/issues.jsonl\n"
		    "bd export --format md",
	.flags = BEAD_READ | OP_HOST,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "export", props },
	.run = bead_export_run,
};
