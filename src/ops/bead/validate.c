#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "beads/repair/inspect.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct str files;
	struct when when;
};

static const struct field fields[] = {
	{ "files", &kind_path, offsetof(struct body, files), FIELD_CLI, .arg = "FOLDER",
	  .help = "folder with the files of a commit, to check instead of this store" },
	{ "at", &kind_when, offsetof(struct body, when),
	  .help = "commit or time whose files to check" },
	{ 0 },
};

static const struct prop finding_props[] = {
	{ "code severity file line:int id|null message", NULL },
	{ 0 },
};

static const struct prop props[] = {
	{ "ok:bool errors:int warnings:int", NULL },
	{ "findings[]", finding_props },
	{ 0 },
};

static void bead_validate_encode(struct json *j, const struct finding *list)
{
	int64_t count[2] = { 0 };

	for (const struct finding *f = list; f; f = f->next)
		count[f->severity]++;
	json_object(j);
	json_put_bool(j, "ok", !count[SEVERITY_ERROR]);
	json_put_int(j, "errors", count[SEVERITY_ERROR]);
	json_put_int(j, "warnings", count[SEVERITY_WARNING]);
	json_put_array(j, "findings");
	for (const struct finding *f = list; f; f = f->next) {
		json_object(j);
		json_put_str(j, "code", str_of(f->code));
		json_put_str(j, "severity",
			     f->severity == SEVERITY_ERROR ? STR("error") : STR("warning"));
		json_put_str(j, "file", str_of(f->file));
		json_put_int(j, "line", f->line);
		json_put_str(j, "id", f->id);
		json_put_str(j, "message", f->message);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static enum err read_files(struct call *c, struct str folder, struct snapshot *out)
{
	struct str dir = path_resolve(&c->mem, c->dir, folder);
	struct file_found found;
	enum err e = file_look(c, dir, &found);

	if (e)
		return e;
	if (found.kind != FILE_FOLDER)
		return call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a directory",
				 STR_ARG(dir));
	for (int i = 0; !e && i < SNAPSHOT_FILES; i++)
		e = file_own_read(
			c, path_join(&c->mem, dir, str_of(snapshot_name((enum snapshot_file)i))),
			&out->file[i]);
	return e;
}

static enum err bead_validate_check_folder(struct call *c, struct str folder, struct finding **out)
{
	struct snapshot files = { 0 };
	enum err e = read_files(c, folder, &files);

	if (!e)
		*out = validate_snapshot(&c->mem, &files, c->now_ms);
	return e;
}

static enum err bead_validate_check_commit(struct call *c, const struct when *when,
					   struct finding **out)
{
	struct beads b;
	enum err e = beads_home(c, &b);

	return e ? e : inspect_commit(c, &b, when, out);
}

/* The store could not be read. If the published files are the cause, the findings say so;
 * otherwise the error is returned. */
static enum err check_published(struct call *c, const struct beads *b, struct finding **out)
{
	struct call before = call_save(c);
	struct inspection i;
	bool told = b->home.p && !inspect_open(c, b, &i) && !inspect_store(c, b, &i, out) &&
		    findings_any_error(*out);

	call_restore(c, &before);
	return told ? call_forgive(c) : c->code;
}

static enum err bead_validate_check_store(struct call *c, struct finding **out)
{
	struct beads b;
	struct inspection i;
	enum err e = beads_open(c, BEADS_READ, &b);

	if (!e) {
		cache_close(&b.cache);
		if (!(e = inspect_open(c, &b, &i)))
			e = inspect_journal(c, &b, &i);
	}
	if (!e)
		e = inspect_store(c, &b, &i, out);
	else if (e == ERR_DAMAGED || e == ERR_REMOTE_DAMAGED || e == ERR_INTERNAL_ERROR)
		e = check_published(c, &b, out);
	beads_close(&b);
	return e;
}

static enum err bead_validate_run(struct call *c, struct stores *s, const void *body,
				  struct json *reply)
{
	const struct body *in = body;
	struct finding *found = NULL;
	enum err e = in->files.p     ? bead_validate_check_folder(c, in->files, &found) :
		     in->when.spec.p ? bead_validate_check_commit(c, &in->when, &found) :
				       bead_validate_check_store(c, &found);

	(void)s;
	if (!e)
		bead_validate_encode(reply, found);
	return e;
}

const struct op op_bead_validate = {
	.name = "bead validate",
	.help = "Check the published files and the journal",
	.more = "Exits with 1 if there are errors.",
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "validation", props },
	.run = bead_validate_run,
};
