#include "beads/exchange/export.h"

#include "base/map.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "continuity/memory.h"
#include "ops/bead/bead_ops.h"
#include "ops/exchange/exchange_ops.h"
#include "ops/ops.h"
#include "store/place.h"

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
enum err exchange_add_memories(struct call *c, struct str *text, int64_t *count)
{
	struct memory_where where = { .scope = SCOPE_GLOBAL, .id = STR("") };
	struct buf out = { .mem = &c->mem };
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
	if (!lines.count)
		return ERR_OK; /* without a copy of the text */
	buf_put(&out, *text);
	for (size_t i = 0; i < lines.count; i++) {
		const struct memory_row *one = order[i]->value;
		struct json j = json_new(&c->mem);

		json_object(&j);
		json_put_str(&j, "_type", STR("memory"));
		json_put_str(&j, "key", one->key);
		json_put_str(&j, "value", one->value);
		json_end(&j);
		buf_put(&out, json_text(&j));
		buf_char(&out, '\n');
	}
	*text = buf_str(&out);
	return ERR_OK;
}

/*
 * A cloned repository can bring a link under the name that the user gives. Through it, the export
 * would replace another file of the user. Links that stay inside of the worktree are followed.
 */
static enum err exchange_check_output(struct call *c, struct str tree, struct str path)
{
	struct str root = tree.p ? path_real(&c->mem, tree) : STR_NONE, real;

	if (!root.p || !path_within(root, path))
		return ERR_OK;
	real = path_real_part(&c->mem, path);
	if (str_eq(real, path) || (path_within(root, real) && !place_is_reserved(c, root, real)))
		return ERR_OK;
	call_fail(c, ERR_UNSAFE_PATH, "'" STR_FMT "' leads out of the worktree, to '" STR_FMT "'",
		  STR_ARG(path), STR_ARG(real));
	return call_step(c, "It is a link, perhaps one that came with the repository. Choose a "
			    "file that is not a link, for example: bd export -o export.jsonl");
}

static enum err exchange_write(struct call *c, struct str tree, struct str output, struct str text)
{
	struct str path = path_resolve(&c->mem, c->dir, output);
	enum err e = exchange_check_output(c, tree, path);

	return e ? e : file_output(c, path, text, 0644);
}

static enum err bead_export_run(struct call *c, struct stores *s, const void *body,
				struct json *reply)
{
	const struct body *in = body;
	struct export_result made = { 0 };
	int64_t memories = 0;
	enum err e = export_all(c, s->beads, (enum export_format)in->format, &made);

	if (!e && in->format == EXPORT_BD)
		e = exchange_add_memories(c, &made.text, &memories);
	if (!e && in->output.p)
		e = exchange_write(c, s->beads->repo.tree, in->output, made.text);
	if (e)
		return e;
	json_object(reply);
	json_put_int(reply, "issues", made.issues);
	json_put_int(reply, "tombstones", made.tombstones);
	json_put_int(reply, "memories", memories);
	json_put_str(reply, "file", in->output);
	json_put_str(reply, "text", in->output.p ? STR_NONE : made.text);
	json_end(reply);
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
