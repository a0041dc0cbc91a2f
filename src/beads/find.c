#include "beads/find.h"

#include "base/moment.h"
#include "base/system/platform.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/config.h"
#include "beads/git_process.h"
#include "beads/model/state.h"
#include "store/db/bead_query.h"

enum { SHOWN = 5 }; /* candidates that are listed in the error */

enum err find_ambiguous(struct call *c, struct str text, const struct str *ids, size_t count)
{
	struct buf all = { .mem = &c->mem };
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_array(&j, "matches");
	for (size_t i = 0; i < count && i < SHOWN; i++) {
		buf_fmt(&all, "%s" STR_FMT, i ? ", " : "", STR_ARG(ids[i]));
		json_str(&j, ids[i]);
	}
	json_end(&j);
	json_end(&j);
	call_fail(c, ERR_AMBIGUOUS_ID, "'" STR_FMT "' is ambiguous: %s%s", STR_ARG(text),
		  buf_str(&all).p, count > SHOWN ? " and more" : "");
	return call_detail(c, json_text(&j));
}

static enum err find_refuse_deleted(struct call *c, struct str id, struct str line)
{
	const struct value *v = value_read(&c->mem, line);
	struct json j = json_new(&c->mem);
	struct stamp at = { 0 };

	stamp_decode_deletion(value_find(v, "deleted_at"), &at);
	json_object(&j);
	json_put_str(&j, "id", id);
	json_put_str(&j, "deleted_at", moment_format(&c->mem, at.ms));
	json_put_str(&j, "deleted_by", value_str(v, "deleted_by"));
	json_put_str(&j, "reason", value_str(v, "reason"));
	json_end(&j);
	call_fail(c, ERR_DELETED, "'" STR_FMT "' was deleted by " STR_FMT " at " STR_FMT,
		  STR_ARG(id), STR_ARG(value_str(v, "deleted_by")),
		  STR_ARG(moment_format(&c->mem, at.ms)));
	if (value_find(v, "bead"))
		call_step(c, "'bd undelete " STR_FMT "' restores it.",
			  STR_ARG(spawn_word(&c->mem, id)));
	else
		call_step(c, "Its content was not kept. 'bd deleted' lists the deleted beads.");
	return call_detail(c, json_text(&j));
}

static struct str find_prefixed(struct call *c, const struct beads *b, struct str text)
{
	return arena_fmt(&c->mem, STR_FMT "-" STR_FMT, STR_ARG(b->about.prefix), STR_ARG(text));
}

struct str find_brief(struct str prefix, struct str id)
{
	if (!prefix.n || id.n <= prefix.n + 1 || !str_starts(id, prefix) || id.p[prefix.n] != '-')
		return STR_NONE;
	return str_skip(id, prefix.n + 1);
}

/* The ids that begin with the text, or with the prefix and the text. */
static enum err find_candidates(struct call *c, struct beads *b, struct str text, bool gone,
				struct str **ids, size_t *count)
{
	enum err e = query_ids(c, &b->cache, text, gone, SHOWN + 1, ids, count);

	if (e || *count)
		return e;
	return query_ids(c, &b->cache, find_prefixed(c, b, text), gone, SHOWN + 1, ids, count);
}

static enum err find_not_found(struct call *c, struct str text)
{
	call_fail(c, ERR_NOT_FOUND, "there is no bead '" STR_FMT "'", STR_ARG(text));
	return call_step(c, "Run 'bd list' to list open beads, or 'bd search WORD' to search all "
			    "beads.");
}

enum err find_bead(struct call *c, struct beads *b, struct str text, struct bead_row **out)
{
	struct str *ids, line;
	size_t count;
	enum err e = cache_find_bead(c, &b->cache, text, out);

	if (e || *out)
		return e;
	if ((e = cache_find_tombstone(c, &b->cache, text, &line)))
		return e;
	if (line.p)
		return find_refuse_deleted(c, text, line);
	if ((e = cache_find_bead(c, &b->cache, find_prefixed(c, b, text), out)) || *out)
		return e;
	if ((e = find_candidates(c, b, text, false, &ids, &count)))
		return e;
	if (count > 1)
		return find_ambiguous(c, text, ids, count);
	if (count)
		return cache_find_bead(c, &b->cache, ids[0], out);
	if ((e = find_candidates(c, b, text, true, &ids, &count)) || count != 1)
		return e ? e : find_not_found(c, text);
	if ((e = cache_find_tombstone(c, &b->cache, ids[0], &line)))
		return e;
	return find_refuse_deleted(c, ids[0], line);
}

enum err find_beads(struct call *c, struct beads *b, const struct str *texts, size_t count,
		    struct bead_row **out)
{
	struct bead_row *row, **tail = out;
	enum err e;

	*out = NULL;
	for (size_t i = 0; i < count; i++) {
		bool twice = false;

		if ((e = find_bead(c, b, texts[i], &row)))
			return e;
		for (struct bead_row *r = *out; r; r = r->next)
			twice = twice || str_eq(r->id, row->id);
		if (twice)
			continue;
		*tail = row;
		tail = &row->next;
	}
	return ERR_OK;
}

enum err find_claimed(struct call *c, struct beads *b, struct str actor, struct bead_row **out)
{
	struct bead_filter mine = {
		.claimed = true, .now = c->now_ms, .assignee = actor, .sort = SORT_PRIORITY
	};

	*out = NULL;
	return query_each(c, &b->cache, &mine, out);
}

static enum err find_refuse_present(struct call *c, struct str id)
{
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not deleted", STR_ARG(id));
	return call_step(c, "Run 'bd deleted' to list the deleted beads.");
}

/* A bead whose tombstone was removed because it was old: published commits still have it. */
static enum err find_removed(struct call *c, struct beads *b, struct str id, struct str *line)
{
	struct git_process h = { .words = { "tombstone", arena_cstr(&c->mem, b->repo.common),
					    "--ref", NULL, "--id", arena_cstr(&c->mem, id) } };
	struct str ref;
	enum err e = config_get(c, b->home, CONFIG_SYNC_REF, &ref);

	if (e)
		return e;
	h.words[3] = arena_cstr(&c->mem, ref);
	if ((e = git_process_run(c, &h)) == ERR_NOT_FOUND) {
		call_fail(c, ERR_NOT_FOUND, "there is no deleted bead '" STR_FMT "'", STR_ARG(id));
		return call_step(c, "Run 'bd deleted' to list the deleted beads.");
	}
	*line = h.reply;
	if (!e)
		call_warn(c,
			  "the deletion of '" STR_FMT "' was old and had been removed, with the "
			  "bead's dependencies; 'bd history " STR_FMT "' shows what is known",
			  STR_ARG(id), STR_ARG(id));
	return e;
}

enum err find_deleted(struct call *c, struct beads *b, struct str text, struct str *id,
		      struct str *line)
{
	struct bead_row *row;
	struct str *ids;
	size_t count;
	enum err e = cache_find_bead(c, &b->cache, text, &row);

	*id = text;
	if (!e && row) /* it may have the tombstone of an earlier deletion, too */
		return find_refuse_present(c, text);
	if (e || (e = cache_find_tombstone(c, &b->cache, text, line)) || line->p)
		return e;
	if ((e = find_candidates(c, b, text, true, &ids, &count)))
		return e;
	if (count > 1)
		return find_ambiguous(c, text, ids, count);
	if (!count)
		return find_removed(c, b, text, line);
	*id = ids[0];
	return cache_find_tombstone(c, &b->cache, ids[0], line);
}

/* The length of new ids: four digits for the first 500 beads, one more for every tenfold. */
static size_t find_id_length(int64_t beads)
{
	size_t n = 4;

	for (int64_t most = 500; beads >= most; most *= 10)
		n++;
	return n;
}

static struct str find_random_id(struct call *c, struct str prefix, size_t length)
{
	unsigned char noise[64];
	struct buf id = { .mem = &c->mem };

	platform_random(noise, sizeof noise);
	buf_fmt(&id, STR_FMT "-", STR_ARG(prefix));
	for (size_t i = 0; i < length && 2 * i + 1 < sizeof noise; i++)
		buf_char(&id, "0123456789abcdefghijklmnopqrstuvwxyz"[(noise[2 * i] << 8 |
								      noise[2 * i + 1]) %
								     36]);
	return buf_str(&id);
}

static enum err find_is_free(struct call *c, struct beads *b, const struct state *change,
			     struct str id, bool *is)
{
	struct bead_row *row;
	struct str line;
	enum err e = cache_find_bead(c, &b->cache, id, &row);

	if (e || (e = cache_find_tombstone(c, &b->cache, id, &line)))
		return e;
	*is = !row && !line.p && !state_find(change, id);
	return ERR_OK;
}

enum err find_free_id(struct call *c, struct beads *b, const struct state *change, struct str *out)
{
	bool is = false;
	enum err e = ERR_OK;

	while (!e && !is) {
		*out = find_random_id(c, b->about.prefix, find_id_length(b->about.beads));
		e = find_is_free(c, b, change, *out, &is);
	}
	return e;
}

/* Some of these ids may be taken, even on purpose, so the first free one is used. */
enum err find_copy_id(struct call *c, struct beads *b, const struct state *change,
		      const struct bead *bead, struct str *out)
{
	bool is = false;
	enum err e = ERR_OK;

	for (size_t n = 0; !e && !is; n++) {
		*out = bead_copy_id(&c->mem, bead->id, bead->created, n);
		e = find_is_free(c, b, change, *out, &is);
	}
	return e;
}
