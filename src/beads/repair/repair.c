#include "beads/repair/repair.h"

#include "base/id.h"
#include "base/system/file.h"
#include "base/text/json.h"
#include "beads/beads_parts.h"
#include "beads/config.h"
#include "beads/git_process.h"
#include "beads/model/snapshot.h"
#include "beads/model/state.h"
#include "beads/repair/salvage.h"

struct repair_mending {
	struct beads *b;
	struct journal_repair *out;
	struct json report;
	struct replay replay; /* its base is the last readable one */
	struct record synced; /* the last record of a sync; everything before it is published */
	bool base_lost;       /* a later base record may be lost */
	struct state *all;    /* the base and all that was saved */
	struct str *json;     /* records that are not in the base */
	size_t count;
	struct receipt_db *receipts; /* gets the receipts of records in the base; or NULL */
};

/* --- what is reported --- */

static void repair_tell_piece(struct call *c, struct repair_mending *m,
			      const struct journal_piece *p, const char *action, struct str why)
{
	struct json *j = &m->report;

	json_object(j);
	json_put_str(j, "file", arena_fmt(&c->mem, "journal.%lld", (long long)p->record.segment));
	json_put_int(j, "offset", p->record.offset);
	json_put_str(j, "action", str_of(action));
	json_put_str(j, "why", why);
	json_put_str(j, "text", salvage_shown(&c->mem, p->text));
	json_end(j);
}

static void repair_tell_bead(struct repair_mending *m, struct str id, const char *action,
			     const char *why)
{
	struct json *j = &m->report;

	json_object(j);
	json_put_str(j, "file", STR_NONE);
	json_put_int(j, "offset", 0);
	json_put_str(j, "action", str_of(action));
	json_put_str(j, "why", str_of(why));
	json_put_str(j, "text", id);
	json_end(j);
}

static bool repair_is_before(const struct journal_record *r, const struct record *base)
{
	return (base->base.p || base->anew) &&
	       (r->segment < base->segment ||
		(r->segment == base->segment && r->offset < base->offset));
}

static void repair_lose(struct call *c, struct repair_mending *m, const struct journal_piece *p,
			struct str why)
{
	bool published = repair_is_before(&p->record, &m->synced) || record_is_base(p->record.json);

	m->out->lost += !published;
	m->base_lost = m->base_lost || !repair_is_before(&p->record, &m->replay.base);
	repair_tell_piece(c, m, p,
			  published                 ? "published" :
			  p->verdict == JOURNAL_GAP ? "missing" :
						      "set_aside",
			  published ? arena_fmt(&c->mem, STR_FMT "; its content is in a commit",
						STR_ARG(why)) :
				      why);
}

/* --- reading --- */

/* The first pass finds the base. */
static enum err repair_find_base(struct call *c, const struct journal_piece *p, void *arg)
{
	struct repair_mending *m = arg;

	if (p->verdict > JOURNAL_MENDED || !p->record.json.p)
		return ERR_OK;
	if (replay_find_base(c, &p->record, &m->replay))
		call_forgive(c); /* the second pass reports it */
	else if (record_is_base(p->record.json) && !m->replay.base.repaired)
		m->synced = m->replay.base;
	return ERR_OK;
}

static enum err repair_keep_receipts(struct call *c, struct repair_mending *m,
				     const struct record *r)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && m->receipts && i < r->receipt_count; i++)
		e = receipt_db_put(c, m->receipts, &r->receipts[i]);
	return e;
}

static enum err repair_save(struct call *c, struct repair_mending *m, const struct journal_piece *p,
			    const struct record *r)
{
	m->out->salvaged++;
	if (p->verdict != JOURNAL_SOUND)
		repair_tell_piece(c, m, p, p->verdict == JOURNAL_UNVERIFIED ? "unverified" : "kept",
				  str_of(p->why));
	if (replay_has(&m->replay, &p->record))
		return repair_keep_receipts(c, m, r);
	replay_add(c, &m->replay, r);
	m->json = arena_room(&c->mem, m->json, m->count, sizeof *m->json);
	m->json[m->count++] = p->record.json;
	return ERR_OK;
}

/* The second pass saves or reports every record. */
static enum err repair_take_piece(struct call *c, const struct journal_piece *p, void *arg)
{
	struct repair_mending *m = arg;
	struct record record;
	bool base = record_is_base(p->record.json);

	if (p->verdict == JOURNAL_MENDED && !p->record.json.p) {
		repair_tell_piece(c, m, p, "kept", str_of(p->why));
		return ERR_OK;
	}
	if (p->verdict >= JOURNAL_BROKEN || (p->verdict == JOURNAL_UNVERIFIED && base)) {
		repair_lose(c, m, p, str_of(p->why));
		return ERR_OK;
	}
	if (replay_decode(c, &m->replay, &p->record, &record)) {
		repair_lose(c, m, p, p->verdict == JOURNAL_SOUND ? c->message : str_of(p->why));
		return call_forgive(c);
	}
	return repair_save(c, m, p, &record);
}

/* --- what the records come to --- */

static enum err repair_read_commit(struct call *c, struct repair_mending *m, struct str commit,
				   struct state **out)
{
	struct snapshot files;
	enum err e = git_process_read(c, m->b->repo.common, commit, &files);

	*out = state_new(&c->mem);
	return e ? e : snapshot_read(c, &files, *out);
}

static bool repair_same_files(struct arena *mem, const struct state *a, const struct state *b)
{
	struct snapshot x = snapshot_encode(mem, a), y = snapshot_encode(mem, b);

	for (int i = 0; i < FILE_META; i++)
		if (!str_eq(x.file[i], y.file[i]))
			return false;
	return true;
}

/* If the record of a later base may be lost, the ref has that commit. It becomes the base if it
 * has everything of the older base; otherwise the next sync joins the two. */
static enum err repair_choose_base(struct call *c, struct repair_mending *m)
{
	struct str ref, here, *base = &m->replay.base.base;
	struct state *newer, *both;
	enum err e = config_get(c, m->b->home, CONFIG_SYNC_REF, &ref);

	m->all = state_new(&c->mem);
	if (e || (base->p && (e = repair_read_commit(c, m, *base, &m->all))))
		return e;
	here = place_ref(c, &m->b->repo, ref);
	if (!here.p || str_eq(here, *base) || (base->p && !m->base_lost))
		return ERR_OK;
	if ((e = repair_read_commit(c, m, here, &newer)) && base->p) {
		c->code = ERR_OK; /* the ref's commit may be damaged, too; the older base is not */
		return ERR_OK;
	}
	if (e)
		return e;
	both = state_new(&c->mem);
	state_add(both, newer);
	state_add(both, m->all);
	if (!repair_same_files(&c->mem, both, newer))
		return ERR_OK;
	*base = here;
	m->all = newer;
	return ERR_OK;
}

/* A bead whose first record is lost gets default values, older than everything that was written to
 * it, so that the real values win if another clone has them. */
static struct bead repair_completed(struct arena *mem, const struct bead *b)
{
	static const struct {
		enum reg reg;
		enum member member;
		const char *value;
	} needed[] = {
		{ REG_PRIORITY, MEMBER_PRIORITY, "2" },
		{ REG_STATUS, MEMBER_STATUS, "\"open\"" },
		{ REG_TYPE, MEMBER_TYPE, "\"task\"" },
	};
	struct bead out = { .id = b->id, .created = b->created };
	struct mark before = b->created;

	before.at.ms -= before.at.ms > 0;
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!b->mark[needed[i].reg].by.p)
			bead_put(mem, &out, needed[i].member, str_of(needed[i].value));
	if (!b->mark[REG_TITLE].by.p)
		bead_put_text(mem, &out, MEMBER_TITLE,
			      arena_fmt(mem, STR_FMT " (its title was lost)", STR_ARG(b->id)));
	for (int i = 0; i < CORE_REGS; i++)
		if (!b->mark[i].by.p)
			out.mark[i] = before;
	return out;
}

struct state *repair_complete(struct call *c, struct state *all, repair_tell *told, void *arg)
{
	struct state *missing = state_new(&c->mem);

	for (size_t i = 0; i < all->slots.count; i++) {
		const struct slot *slot = all->slots.entry[i].value;
		struct bead whole;

		if (!slot_visible(slot) || bead_whole(slot->bead))
			continue;
		whole = repair_completed(&c->mem, slot->bead);
		state_put_bead(missing, &whole);
		if (told)
			told(arg, slot->id);
	}
	state_add(all, missing);
	return missing;
}

static void repair_tell_completed(void *arg, struct str id)
{
	repair_tell_bead(
		arg, id, "completed",
		"the record that created it is lost; it was given a default title, status, "
		"priority and type");
}

/* The prefix of the saved beads; if there are none, the previous prefix. */
static struct str repair_guess_prefix(const struct beads *b, const struct state *all)
{
	for (size_t i = 0; i < all->slots.count; i++) {
		struct str id = all->slots.entry[i].key;

		while (id.n && id.p[id.n - 1] != '-')
			id.n--;
		if (id.n > 1)
			return str_head(id, id.n - 1);
	}
	return b->about.prefix.p ? b->about.prefix : STR("bd");
}

/* What is missing in the saved records, as one more record; absent: nothing. */
static enum err repair_complete_record(struct call *c, struct repair_mending *m, struct str *json)
{
	struct record r = { 0 };

	state_add(m->all, m->replay.since);
	r.change = repair_complete(c, m->all, repair_tell_completed, m);
	if (!m->all->prefix_mark.by.p) {
		struct str prefix = repair_guess_prefix(m->b, m->all);

		state_put_prefix(r.change, prefix, (struct mark){ { 0, 1 }, STR("bd-repair") });
		repair_tell_bead(
			m, prefix, "completed",
			"the record with the id prefix is lost; the prefix was taken from the "
			"beads");
	}
	*json = STR_NONE;
	return record_empty(r.change) ? ERR_OK : beads_encode_record(c, &r, json);
}

/* --- writing --- */

/* The base record comes last, so an incomplete segment replaces nothing. */
static enum err repair_write_segment(struct call *c, struct repair_mending *m, struct str rest,
				     struct journal_place *place)
{
	struct record r = { .change = state_new(&c->mem),
			    .base = m->replay.base.base,
			    .anew = !m->replay.base.base.p,
			    .repaired = true };
	AUTO_FD fd = -1;
	struct str *json;
	enum err e = journal_after_damage(c, m->b->home, place);

	if (e)
		return e;
	r.segment = place->segment + 1;
	json = arena_array(&c->mem, m->count + 2, sizeof *json);
	if (m->count)
		memcpy(json, m->json, m->count * sizeof *json);
	if (rest.p)
		json[m->count++] = rest;
	if ((e = beads_encode_record(c, &r, &json[m->count++])) ||
	    (e = journal_restart(c, m->b->home, place, json, m->count, &fd)))
		return e;
	return journal_sync(c, m->b->home, fd);
}

static enum err repair_write_journal(struct call *c, struct repair_mending *m, struct str rest)
{
	struct journal_place place;
	struct str kept;
	enum err e = m->receipts ? receipt_db_commit(c, m->receipts) : ERR_OK;

	if (e || (e = repair_write_segment(c, m, rest, &place)))
		return e;
	call_stored(c, STORED_PART);
	m->out->applied = true;
	m->out->suffix = id_mint(&c->mem, "damaged", c->now_ms);
	if ((e = journal_set_aside(c, m->b->home, place.segment, m->out->suffix)))
		return e;
	return cache_set_aside(c, beads_path(c, m->b, "cache.db"), m->out->suffix, &kept);
}

/* --- the whole of it --- */

static enum err repair_salvage(struct call *c, struct repair_mending *m, bool apply)
{
	struct str home = m->b->home, rest;
	enum err e;

	m->replay.since = state_new(&c->mem);
	json_array(&m->report);
	if ((e = journal_salvage(c, home, repair_find_base, m)) ||
	    (e = journal_salvage(c, home, repair_take_piece, m)) ||
	    (e = repair_choose_base(c, m)) || (e = repair_complete_record(c, m, &rest)))
		return e;
	json_end(&m->report);
	m->out->report = json_text(&m->report);
	return apply ? repair_write_journal(c, m, rest) : ERR_OK;
}

/* The receipts of published records move to receipts.db. If that fails, repeated requests will not
 * be recognised; the repair warns and continues. */
static enum err repair_mend(struct call *c, struct beads *b, bool apply, struct journal_repair *out)
{
	struct repair_mending m = {
		.b = b, .out = out, .report.out.mem = &c->mem, .replay = { .b = b }
	};
	struct receipt_db receipts = { 0 };
	enum err e;

	if (apply && receipt_db_open(c, beads_path(c, b, "receipts.db"), true, &receipts))
		c->warning =
			arena_fmt(&c->mem,
				  STR_FMT "; earlier requests are not recognised when they are "
					  "repeated",
				  STR_ARG(c->message));
	call_forgive(c);
	m.receipts = receipts.db ? &receipts : NULL;
	e = repair_salvage(c, &m, apply);
	receipt_db_close(&receipts);
	arena_release(&m.replay.scratch);
	return e;
}

/* Where the journal ends, or ended according to the cache. */
static enum err repair_check(struct call *c, struct beads *b, bool *damaged)
{
	struct cache_about about;
	enum journal_news news;
	struct pending pending;
	enum err e = beads_pending(c, b, &pending);

	*damaged = e == ERR_JOURNAL_LOST;
	if (*damaged)
		e = call_forgive(c);
	if (e || *damaged)
		return e;
	if (!cache_open(c, beads_path(c, b, "cache.db"), CACHE_READ, &b->cache, &about)) {
		b->about.prefix = about.prefix;
		*damaged = journal_compare(c, b->home, about.place, &news) == ERR_JOURNAL_LOST;
	}
	cache_close(&b->cache);
	return call_forgive(c);
}

enum err repair_journal(struct call *c, bool apply, int64_t timeout_ms, struct journal_repair *out)
{
	AUTO_LOCK alone = LOCK_NONE;
	struct beads b;
	enum err e = beads_home(c, &b);

	*out = (struct journal_repair){ 0 };
	if (e || (e = repair_check(c, &b, &out->damaged)) || !out->damaged)
		return e;
	/* a running sync would write places of the old journal */
	if (apply && ((e = lock_take(c, beads_path(c, &b, "sync.lock"), (int)timeout_ms, &alone)) ||
		      (e = lock_take(c, beads_path(c, &b, "lock"), (int)timeout_ms, &b.lock)) ||
		      (e = repair_check(c, &b, &out->damaged))))
		out->damaged = out->damaged && !e;
	if (!e && out->damaged)
		e = repair_mend(c, &b, apply, out);
	lock_drop(&b.lock);
	return e;
}
