#include "beads/repair/inspect.h"

#include "base/text/value.h"
#include "beads/config.h"
#include "beads/git_process.h"
#include "beads/model/state.h"
#include "beads/repair/foreign.h"

/* --- the published files --- */

/* Another program's: it keeps no checksums, but it has to name the format. */
static bool inspect_is_foreign(struct call *c, const struct snapshot *files)
{
	struct str why;
	int64_t version;

	return foreign_files(&c->mem, files) &&
	       value_int(snapshot_parse_meta(&c->mem, files, &why), "format_version", &version);
}

/* What the specification asks of every store, however a program spells its lines. */
static bool is_basic(const struct finding *f)
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
	c->code = ERR_OK;
	return f;
}

/* The basic findings of the raw files, and all of what was made of them. */
static enum err inspect_foreign(struct call *c, const struct beads *b, struct str ref,
				const struct snapshot *raw, struct finding **out)
{
	struct finding *f, *next, **tail = out;
	struct snapshot files;

	*out = NULL;
	for (f = validate_snapshot(&c->mem, raw, c->now_ms); f; f = next) {
		next = f->next;
		if (is_basic(f))
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

static enum err read_raw(struct call *c, const struct beads *b, const struct when *when,
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
	enum err e = read_raw(c, b, when, &ref, &files);

	return e ? e : inspect_files(c, b, ref, &files, out);
}

/* --- with the journal --- */

static bool is_known(const struct finding *list, const struct finding *f)
{
	for (; list; list = list->next)
		if (!strcmp(list->code, f->code) && str_eq(list->id, f->id) &&
		    str_eq(list->message, f->message))
			return true;
	return false;
}

/*
 * How records relate is said of the next commit: the journal may have mended what was published,
 * or broken it. All else is said of the files that are published.
 */
static void join_findings(struct finding *published, struct finding *next_commit,
			  struct finding **out)
{
	struct finding *kept = NULL, **tail = &kept, *next;

	for (struct finding *f = published; f; f = next) {
		next = f->next;
		if (!f->relation || is_known(next_commit, f))
			tail = inspect_append(tail, f);
	}
	for (struct finding *f = next_commit; f; f = next) {
		next = f->next;
		if (!is_known(kept, f))
			tail = inspect_append(tail, f);
	}
	*out = kept;
}

/* What is published, joined with what the journal knows: the next commit. */
static struct finding *inspect_next(struct call *c, const struct snapshot *files,
				    const struct state *all)
{
	struct state *both = state_new(&c->mem);
	struct snapshot next;

	if (files->commit.p && !inspect_is_foreign(c, files) &&
	    !validate_usable(c, files, state_new(&c->mem)))
		snapshot_read(c, files, both);
	c->code = ERR_OK;
	state_add(both, all);
	next = snapshot_encode(&c->mem, both);
	return validate_snapshot(&c->mem, &next, c->now_ms);
}

enum err inspect_store(struct call *c, const struct beads *b, const struct state *all,
		       struct finding **out)
{
	struct finding *published = NULL;
	struct snapshot files = { 0 };
	struct str ref;
	enum err e = config_get(c, b->home, CONFIG_SYNC_REF, &ref);

	if (e)
		return e;
	if (place_has_ref(c, &b->repo, ref)) {
		if (read_raw(c, b, NULL, &ref, &files))
			published = inspect_unreadable(c, ref);
		else if ((e = inspect_files(c, b, ref, &files, &published)))
			return e;
	}
	*out = published;
	if (all)
		join_findings(published, inspect_next(c, &files, all), out);
	return ERR_OK;
}
