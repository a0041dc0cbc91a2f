#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "beads/config.h"
#include "beads/helper.h"
#include "beads/validate.h"
#include "ops/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct str files;
	struct when when;
};

static const struct field fields[] = {
	{ "files", &kind_path, offsetof(struct body, files), FIELD_CLI, .arg = "FOLDER",
	  .help = "canonical files in a folder, instead of this store" },
	{ "at", &kind_when, offsetof(struct body, when),
	  .help = "the files of a commit, as they are: a commit, or a time" },
	{ 0 },
};

static const struct prop finding_props[] = {
	{ "code", PROP_STR, 0, NULL },
	{ "severity", PROP_STR, 0, NULL },
	{ "file", PROP_STR, 0, NULL },
	{ "line", PROP_INT, 0, NULL },
	{ "id", PROP_STR, PROP_NULL, NULL },
	{ "message", PROP_STR, 0, NULL },
	{ 0 },
};

static const struct prop props[] = {
	{ "ok", PROP_BOOL, 0, NULL },
	{ "errors", PROP_INT, 0, NULL },
	{ "warnings", PROP_INT, 0, NULL },
	{ "findings", PROP_OBJECT, PROP_LIST, finding_props },
	{ 0 },
};

static void encode(struct json *j, const struct finding *list)
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
			     f->severity == SEVERITY_ERROR ? STR("error") :
							     STR("warning"));
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
		e = file_read(c,
			      path_join(&c->mem, dir,
					str_of(snapshot_name((enum snapshot_file)i))),
			      &out->file[i]);
	return e;
}

/* What would be published: the truth, replayed. */
static enum err replay(struct call *c, struct snapshot *out)
{
	struct beads b;
	struct state *all;
	enum err e = beads_open(c, BEADS_READ, &b);

	if (e)
		return e;
	cache_close(&b.cache);
	if (!(e = beads_replay(c, &b, &all)))
		*out = snapshot_encode(&c->mem, all);
	beads_close(&b);
	return e;
}

/* What was published, byte for byte. */
static enum err read_then(struct call *c, const struct when *when, struct snapshot *out)
{
	struct beads b;
	struct str ref;
	enum err e;

	if ((e = beads_home(c, &b)) || (e = config_get(c, b.home, CONFIG_SYNC_REF, &ref)))
		return e;
	return helper_read_at(c, b.repo.common, ref, when->ms, when->spec, true, out);
}

static enum err run(struct call *c, struct stores *s, const void *body,
		    struct json *reply)
{
	const struct body *in = body;
	struct snapshot files = { 0 };
	enum err e = in->files.p     ? read_files(c, in->files, &files) :
		     in->when.spec.p ? read_then(c, &in->when, &files) :
				       replay(c, &files);

	(void)s;
	if (!e)
		encode(reply, validate_snapshot(&c->mem, &files, c->now_ms));
	return e;
}

const struct op op_bead_validate = {
	.name = "bead validate",
	.help = "Check every record of the store; exits with 1 if there are errors",
	.body_size = sizeof(struct body),
	.fields = fields,
	.reply = &(const struct prop){ "validation", PROP_OBJECT, 0, props },
	.run = run,
};
