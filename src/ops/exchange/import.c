/*
 * bd import: joins the issues of another tracker to the store (beads/exchange/import.h), and keeps
 * the memories of upstream's bd as memory of vybe.
 */
#include "beads/exchange/import.h"

#include "base/system/spawn.h"
#include "base/text/json.h"
#include "beads/config.h"
#include "beads/exchange/source.h"
#include "beads/setup.h"
#include "continuity/memory.h"
#include "op/op.h"
#include "ops/bead/bead_ops.h"
#include "ops/exchange/exchange_ops.h"
#include "ops/ops.h"

struct body {
	struct str file, prefix;
	int from;
	bool dry_run, strict;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "file", &kind_path, AT(file), FIELD_PLACE | FIELD_CLI, .also = "input", .letter = 'i',
	  .arg = "FILE",
	  .help = "file or folder to read ('-' reads standard input; default: see above)" },
	{ "from", &kind_word, AT(from), .words = &source_kinds,
	  .help = "tracker that wrote the file (default: detected)" },
	{ "prefix", &kind_line, AT(prefix), .arg = "PREFIX", .max = BEAD_PREFIX_MOST,
	  .help = "new prefix for all ids; dependencies follow" },
	{ "dry_run", &kind_bool, AT(dry_run), FIELD_CLI, .role = ROLE_DRY_RUN,
	  .help = "report without importing anything" },
	{ "strict", &kind_bool, AT(strict), .help = "import nothing if a line would be refused" },
	{ 0 },
};

static const struct prop finding_props[] = {
	{ "file line:int id|null code message", NULL },
	{ 0 },
};

static const struct prop props[] = {
	{ "ok:bool source dry_run:bool read:int created:int updated:int unchanged:int", NULL },
	{ "older:int tombstones:int memories:int refused:int", NULL },
	{ "findings[]", finding_props },
	{ 0 },
};

/* --- memories --- */

static struct memory_ask import_memory_ask(const struct import_memory *m)
{
	return (struct memory_ask){ .where = { .scope = SCOPE_GLOBAL, .id = STR("") },
				    .key = m->key,
				    .value = m->value,
				    .type = -1,
				    .kind = -1 };
}

static enum err import_put_memory(struct call *c, struct continuity *k,
				  const struct import_memory *m, bool *same)
{
	struct memory_ask ask = import_memory_ask(m);
	struct memory_row *row = NULL;
	int64_t event;
	enum err e = memory_find(c, k, &ask.where, m->key, &row);

	*same = !e && row && str_eq(row->value, m->value);
	if (*same)
		return ERR_OK;
	call_forgive(c);
	return memory_set(c, k, &ask, &event);
}

/* Reports why a memory was refused, and forgets the failure. */
static void import_refuse_memory(struct call *c, const struct import_memory *m,
				 struct import_report *out)
{
	out->findings.file = m->file;
	out->findings.line = m->line;
	import_find(&out->findings, m->key, "bad_memory", "the memory was refused: " STR_FMT,
		    STR_ARG(c->message));
	call_forgive(c);
	out->refused++;
	out->memories--;
}

/* A memory that is there already is unchanged; one that cannot be stored is refused. */
enum err exchange_keep_memories(struct call *c, struct import_report *out)
{
	struct continuity k;
	enum err e;

	if (!out->memory)
		return ERR_OK;
	if ((e = continuity_open(c, VYBE_WRITE, &k)))
		return e;
	for (const struct import_memory *m = out->memory; m; m = m->next) {
		bool same;

		if (import_put_memory(c, &k, m, &same)) {
			import_refuse_memory(c, m, out);
		} else if (same) {
			out->unchanged++;
			out->memories--;
		}
	}
	e = continuity_commit(c, &k);
	continuity_close(&k);
	return e;
}

/* --- without writing --- */

static enum err import_try(struct call *c, const struct import_ask *ask, struct import_report *out)
{
	struct import_ask dry = *ask;
	enum err e;

	dry.dry_run = true;
	if ((e = import_run(c, &dry, out)))
		return e;
	for (const struct import_memory *m = out->memory; m; m = m->next) {
		struct memory_ask memory = import_memory_ask(m);

		if (memory_check(c, &memory))
			import_refuse_memory(c, m, out);
	}
	return ERR_OK;
}

static enum err import_refuse_file(struct call *c, const struct body *in, int64_t lines)
{
	struct buf flags = { .mem = &c->mem };

	if (in->from >= 0)
		buf_fmt(&flags, " --from %s", names_word(&source_kinds, in->from));
	if (in->prefix.p)
		buf_fmt(&flags, " --prefix " STR_FMT, STR_ARG(spawn_word(&c->mem, in->prefix)));
	if (in->file.p)
		buf_fmt(&flags, " " STR_FMT, STR_ARG(spawn_word(&c->mem, in->file)));
	call_fail(c, ERR_INVALID_INPUT,
		  "%lld line%s would be refused, so --strict imported nothing", (long long)lines,
		  lines == 1 ? "" : "s");
	return call_step(
		c,
		"Without --strict, the other lines are imported. To see the refused lines: "
		"bd import --dry-run" STR_FMT,
		STR_ARG(buf_str(&flags)));
}

/* --- the report --- */

static void import_encode(struct json *j, const struct import_report *r, const struct body *in,
			  struct str source)
{
	json_object(j);
	json_put_bool(j, "ok", !r->refused);
	json_put_str(j, "source", source);
	json_put_bool(j, "dry_run", in->dry_run);
	json_put_int(j, "read", r->read);
	json_put_int(j, "created", r->created);
	json_put_int(j, "updated", r->updated);
	json_put_int(j, "unchanged", r->unchanged);
	json_put_int(j, "older", r->older);
	json_put_int(j, "tombstones", r->tombstones);
	json_put_int(j, "memories", r->memories);
	json_put_int(j, "refused", r->refused);
	json_put_array(j, "findings");
	for (const struct import_finding *f = r->findings.first; f; f = f->next) {
		json_object(j);
		json_put_str(j, "file", f->file);
		json_put_int(j, "line", (int64_t)f->line);
		json_put_str(j, "id", f->id);
		json_put_str(j, "code", str_of(f->code));
		json_put_str(j, "message", f->message);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

/* Chooses upstream's dialect; a store that the import has made has chosen already. */
static enum err import_choose_dialect(struct call *c, bool made_store)
{
	struct str dialect = { 0 };
	bool chosen = false;
	struct beads b;
	enum err e = beads_open(c, BEADS_WRITE, &b);

	if (e)
		return e;
	e = made_store ? config_get(c, b.home, CONFIG_JSON_DIALECT, &dialect) :
			 setup_choose_dialect(c, &b, &chosen);
	beads_close(&b);
	if (chosen || str_is(dialect, "upstream"))
		call_warn(c, SETUP_DIALECT);
	return e;
}

static enum err bead_import_run(struct call *c, struct stores *s, const void *body,
				struct json *reply)
{
	const struct body *in = body;
	struct import_ask ask = { .prefix = in->prefix, .commanded = true };
	struct import_report report;
	struct issue_source source;
	enum err e;

	(void)s;
	if (in->prefix.p && !bead_prefix_valid(in->prefix))
		return call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a valid prefix of ids",
				 STR_ARG(in->prefix));
	if ((e = source_open(c, in->file, in->from, &source)))
		return e;
	ask.sources = source.lines;
	if ((in->strict || in->dry_run) && (e = import_try(c, &ask, &report)))
		return e;
	if (in->strict && report.refused)
		return import_refuse_file(c, in, report.refused);
	if (!in->dry_run && (e = import_run(c, &ask, &report)))
		return e;
	if (!in->dry_run && ((e = exchange_keep_memories(c, &report)) ||
			     (e = import_choose_dialect(c, report.made_store))))
		return e;
	import_encode(reply, &report, in, source.name);
	return ERR_OK;
}

enum err exchange_take_in(struct call *c, struct str file)
{
	enum { RECOGNISE = -1 };
	struct import_ask ask = { 0 };
	struct import_report report;
	struct issue_source source;
	enum err e = source_open(c, file, RECOGNISE, &source);

	if (e)
		return e;
	ask.sources = source.lines;
	e = import_run(c, &ask, &report);
	return e ? e : exchange_keep_memories(c, &report);
}

const struct op op_bead_import = {
	.name = "bead import",
	.help = "Import the issues of another tracker",
	.more = "Without FILE, the command looks for .beads/issues.jsonl, .beads/beads.db, "
		"backlog/tasks and .taskmaster/tasks/tasks.json, in this order. Ids, times, authors "
		"and unknown fields are kept. A line that is older than the bead here changes "
		"nothing, so a file can be imported again. Every line that could not be imported "
		"unchanged is listed with its file, its number and the reason. The exit status is 1 "
		"if a line was refused; all other lines are imported.",
	.examples =
		"bd import\n"
		"bd import --dry-run --json\n"
		"bd import backlog/issues.jsonl --prefix web\n"
		"gh issue list --state all --limit 1000 --json number,title,body,state,labels,createdAt,updatedAt,closedAt | bd import --from github -",
	.flags = OP_WRITE | OP_ACTOR | OP_HOST,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "import", props },
	.run = bead_import_run,
};
