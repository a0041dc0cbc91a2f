#include "beads/repair/inspect.h"

#include "base/text/value.h"
#include "beads/config.h"
#include "beads/git_process.h"
#include "beads/model/merge.h"
#include "beads/model/record.h"
#include "beads/repair/foreign.h"

/* --- the published files --- */

/* The meta.json of another program has no checksums, but has to name the format. */
static bool inspect_is_foreign(struct call *c, const struct snapshot *files)
{
	struct str why;
	int64_t version;

	return foreign_files(&c->mem, files) &&
	       value_int(snapshot_parse_meta(&c->mem, files, &why), "format_version", &version);
}

/* The checks that the specification requires of every store, whatever program wrote it. */
static bool inspect_is_basic(const struct finding *f)
{
	static const char *const codes[] = { "duplicate_id", "invalid_json", "missing_file",
					     "unsorted" };

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (!strcmp(f->code, codes[i]))
			return true;
	return false;
}

static struct finding **inspect_append(struct finding **tail, struct finding *f)
{
	*tail = f;
	f->next = NULL;
	return &f->next;
}

/* A file that cannot be read is a finding too. */
static struct finding *inspect_unreadable(struct call *c, struct str ref)
{
	struct finding *f = arena_new(&c->mem, struct finding);

	*f = (struct finding){ .code = "unreadable",
			       .severity = SEVERITY_ERROR,
			       .file = arena_cstr(&c->mem, ref),
			       .message = c->message };
	call_forgive(c);
	return f;
}

/* The basic findings of the raw files, and all findings of the converted ones. */
static enum err inspect_foreign(struct call *c, const struct beads *b, struct str ref,
				const struct snapshot *raw, struct finding **out)
{
	struct finding *f, *next, **tail = out;
	struct snapshot files;

	*out = NULL;
	for (f = validate_snapshot(&c->mem, raw, c->now_ms); f; f = next) {
		next = f->next;
		if (inspect_is_basic(f))
			tail = inspect_append(tail, f);
	}
	if (git_process_read(c, b->repo.common, raw->commit, &files)) {
		inspect_append(tail, inspect_unreadable(c, ref));
		return ERR_OK;
	}
	for (f = validate_snapshot(&c->mem, &files, c->now_ms); f; f = next) {
		next = f->next;
		tail = inspect_append(tail, f);
	}
	return ERR_OK;
}

static enum err inspect_files(struct call *c, const struct beads *b, struct str ref,
			      const struct snapshot *files, struct finding **out)
{
	if (inspect_is_foreign(c, files))
		return inspect_foreign(c, b, ref, files, out);
	*out = validate_snapshot(&c->mem, files, c->now_ms);
	return ERR_OK;
}

static enum err inspect_read_raw(struct call *c, const struct beads *b, const struct when *when,
				 struct str *ref, struct snapshot *files)
{
	enum err e = config_get(c, b->home, CONFIG_SYNC_REF, ref);

	return e ? e :
		   git_process_read_at(c, b->repo.common, *ref, when ? when->ms : 0,
				       when ? when->spec : STR("@"), true, files);
}

enum err inspect_commit(struct call *c, const struct beads *b, const struct when *when,
			struct finding **out)
{
	struct snapshot files;
	struct str ref;
	enum err e = inspect_read_raw(c, b, when, &ref, &files);

	return e ? e : inspect_files(c, b, ref, &files, out);
}

/* --- with the journal --- */

static bool inspect_is_known(const struct finding *list, const struct finding *f)
{
	for (; list; list = list->next)
		if (!strcmp(list->code, f->code) && str_eq(list->id, f->id) &&
		    str_eq(list->message, f->message))
			return true;
	return false;
}

/* Findings about relations between records come from the next commit, because the journal may have
 * repaired or broken them. All other findings come from the published files. */
static void inspect_merge_findings(struct finding *published, struct finding *next_commit,
				   struct finding **out)
{
	struct finding *kept = NULL, **tail = &kept, *next;

	for (struct finding *f = published; f; f = next) {
		next = f->next;
		if (!f->relation || inspect_is_known(next_commit, f))
			tail = inspect_append(tail, f);
	}
	for (struct finding *f = next_commit; f; f = next) {
		next = f->next;
		if (!inspect_is_known(kept, f))
			tail = inspect_append(tail, f);
	}
	*out = kept;
}

bool findings_any_error(const struct finding *f)
{
	while (f && f->severity != SEVERITY_ERROR)
		f = f->next;
	return f;
}

/* Can the published files be joined with the journal? */
static bool inspect_usable(struct call *c, const struct inspection *i, const struct finding *found)
{
	bool usable = i->tip.commit.p && !i->foreign;

	if (usable &&
	    findings_any_error(found)) /* the finding may be one that a sync can normalise */
		usable = !validate_usable(c, &i->tip, state_new(&c->mem));
	call_forgive(c);
	return usable;
}

/* The files of the next commit: the published ones joined with the journal. */
static enum err inspect_join(struct call *c, const struct inspection *i, bool usable,
			     struct snapshot *out)
{
	struct merge m = { .c = c, .change = i->since };
	enum err e;

	if (usable)
		m.side[m.sides++] = i->tip;
	if (i->base.commit.p && !(usable && str_eq(i->base.commit, i->tip.commit)))
		m.side[m.sides++] = i->base;
	if (!m.sides) {
		*out = snapshot_encode(&c->mem, i->since);
		return ERR_OK;
	}
	if ((e = merge_run(&m)))
		return e;
	*out = merge_files(&m);
	return ERR_OK;
}

static struct finding *inspect_next(struct call *c, const struct inspection *i, bool usable)
{
	struct snapshot next;

	return inspect_join(c, i, usable, &next) ? inspect_unreadable(c, i->ref) :
						   validate_snapshot(&c->mem, &next, c->now_ms);
}

enum err inspect_open(struct call *c, const struct beads *b, struct inspection *out)
{
	enum err e;

	*out = (struct inspection){ 0 };
	if ((e = config_get(c, b->home, CONFIG_SYNC_REF, &out->ref)))
		return e;
	if (!place_has_ref(c, &b->repo, out->ref))
		return ERR_OK;
	if (inspect_read_raw(c, b, NULL, &out->ref, &out->tip)) {
		out->unreadable = inspect_unreadable(c, out->ref);
		out->tip = (struct snapshot){ 0 };
	}
	out->foreign = out->tip.commit.p && inspect_is_foreign(c, &out->tip);
	return ERR_OK;
}

enum err inspect_journal(struct call *c, struct beads *b, struct inspection *i)
{
	const struct snapshot *tip = i->foreign ? NULL : &i->tip;
	enum err e = beads_replay(c, b, tip, &i->base, &i->since);

	if (!e && i->base.commit.p)
		e = snapshot_try(c, &i->base);
	i->replayed = !e;
	return e;
}

enum err inspect_store(struct call *c, const struct beads *b, const struct inspection *i,
		       struct finding **out)
{
	bool usable;
	enum err e;

	*out = i->unreadable;
	if (i->tip.commit.p && (e = inspect_files(c, b, i->ref, &i->tip, out)))
		return e;
	if (!i->replayed)
		return ERR_OK;
	usable = inspect_usable(c, i, *out);
	if (usable && str_eq(i->base.commit, i->tip.commit) && record_empty(i->since))
		return ERR_OK; /* nothing is pending: the published files are the next commit */
	inspect_merge_findings(*out, inspect_next(c, i, usable), out);
	return ERR_OK;
}
