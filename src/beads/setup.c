#include "beads/setup.h"

#include "base/buf.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "beads/autosync.h"
#include "beads/beads.h"
#include "beads/config.h"
#include "beads/model/state.h"

enum { ASK_MS = 10000 }; /* timeout for the remote */

/* --- the prefix of ids --- */

/* May the user choose this prefix? bead_prefix_valid() also accepts longer ones that other clones
 * published. */
static bool setup_may_choose(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char ch = s.p[i], lower = (char)(ch | 0x20);
		bool letter = lower >= 'a' && lower <= 'z';

		if (!letter && !(i && ((ch >= '0' && ch <= '9') || ch == '-' || ch == '_')))
			return false;
	}
	return s.n && s.n <= 32 && s.p[s.n - 1] != '-';
}

/* The default prefix, from the name of the folder. */
static struct str setup_default_prefix(struct call *c, struct str name)
{
	struct buf b = { .mem = &c->mem };

	for (size_t i = 0; i < name.n && b.n < 24; i++) {
		char ch = name.p[i], lower = (char)(ch | 0x20);
		bool letter = lower >= 'a' && lower <= 'z', digit = ch >= '0' && ch <= '9';

		if (letter || (digit && b.n))
			buf_char(&b, letter ? lower : ch);
		else if (b.n && b.p[b.n - 1] != '-')
			buf_char(&b, '-');
	}
	while (b.n && b.p[b.n - 1] == '-')
		b.n--;
	return b.n ? buf_str(&b) : STR("bd");
}

static struct str setup_folder_name(struct call *c, const struct beads *b)
{
	struct str name = path_name(path_real(&c->mem, b->repo.main));

	return str_ends(name, STR(".git")) ? str_head(name, name.n - 4) : name;
}

bool setup_prefix_is_default(struct call *c, const struct beads *b)
{
	return str_eq(b->about.prefix, setup_default_prefix(c, setup_folder_name(c, b)));
}

static enum err setup_check_prefix(struct call *c, struct str prefix)
{
	if (!prefix.p || setup_may_choose(prefix))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a valid id prefix", STR_ARG(prefix));
	return call_step(c, "Use letters, digits, '-' and '_', starting with a letter.");
}

/* The mark of a default prefix is the earliest possible, so that any prefix that was chosen on
 * purpose wins, and of two defaults the earlier. */
static struct mark setup_default_mark(const struct call *c)
{
	int64_t seconds = c->now_ms / 1000;

	return (struct mark){ { 0, seconds < UINT32_MAX ? UINT32_MAX - seconds : 0 }, c->actor };
}

static enum err setup_choose_prefix(struct call *c, struct beads *b, struct str asked, bool first)
{
	struct state *change = state_new(&c->mem);
	struct str prefix = asked.p           ? asked :
			    b->about.prefix.p ? b->about.prefix :
						setup_default_prefix(c, setup_folder_name(c, b));

	if (b->about.prefix.p && str_eq(prefix, b->about.prefix))
		return ERR_OK;
	state_put_prefix(change, prefix,
			 first ? setup_default_mark(c) :
				 beads_mark_after(c, b, beads_prefix_mark(c, b)));
	return beads_put(c, b, change);
}

/* --- setting up --- */

const char setup_advice[] =
	"## Work items\n\nThis project tracks work items as beads. Use `bd` instead of a TODO "
	"list.\n- `bd ready --claim --json` claims the next bead; `bd show ID` shows its "
	"details.\n- `bd create \"title\" -p 2 --deps discovered-from:ID` records work that you "
	"discover.\n- `bd close ID --reason \"what was done\"` closes a finished bead.\n";

enum err setup_choose_dialect(struct call *c, const struct beads *b, bool *chosen)
{
	struct str now, dir = path_join(&c->mem, b->repo.tree, STR(".beads"));
	enum err e = config_find(c, b->home, CONFIG_JSON_DIALECT, &now);

	*chosen = !e && !now.p && file_is_dir(&c->mem, dir);
	return *chosen ? config_put(c, b->home, CONFIG_JSON_DIALECT, STR("upstream")) : e;
}

static enum err setup_configure(struct call *c, struct beads *b, const struct setup_ask *in,
				struct setup *out)
{
	enum err e = setup_choose_dialect(c, b, &out->upstream);

	if (!e && in->ref.p)
		e = config_put(c, b->home, CONFIG_SYNC_REF, in->ref);
	if (!e && in->remote.p)
		e = config_put(c, b->home, CONFIG_SYNC_REMOTE, in->remote);
	return e;
}

/*
 * Joins the published beads, if the remote can be reached. The ref of this repository is always
 * used; if it cannot be read the command fails, because an empty store in its place would look
 * like a loss.
 */
static enum err setup_join_published(struct call *c, struct beads *b, struct setup *out)
{
	struct sync_ask ask = { .begin = true,
				.no_push = true,
				.no_pull = c->store.p, /* that one has no remote */
				.timeout_ms = ASK_MS };
	struct str reply;
	enum err e = sync_now(c, b, &ask, &reply);

	/* the ref of this repository cannot be read, or is a branch that is checked out */
	if (!e || e == ERR_DAMAGED || e == ERR_INVALID_INPUT)
		return e;
	out->problem = c->message;
	if (e == ERR_REMOTE_DAMAGED || e == ERR_READ_ONLY)
		out->step = call_next_step(c);
	call_forgive(c);
	if (!beads_ref_here(c, b))
		return ERR_OK;
	ask.no_pull = true;
	return sync_now(c, b, &ask, &reply);
}

/* An existing store only gets the new prefix, if one was requested. */
static enum err setup_begin(struct call *c, struct beads *b, const struct setup_ask *in,
			    struct setup *out)
{
	bool there, mine;
	enum err e = beads_open_new(c, (enum home_kind)in->store, b);

	if (e)
		return e;
	mine = b->about.prefix.p;
	e = setup_configure(c, b, in, out);
	beads_close(b);
	if (e)
		return e;
	if ((!mine && (e = setup_join_published(c, b, out))) ||
	    (e = beads_open_new(c, HOME_ANY, b)))
		return e;
	there = b->about.prefix.p;
	out->result = !there                                               ? "created" :
		      !mine                                                ? "joined" :
		      in->prefix.p && !str_eq(in->prefix, b->about.prefix) ? "updated" :
									     "exists";
	if (there && !mine && in->prefix.p && !str_eq(in->prefix, b->about.prefix))
		out->asked = in->prefix;
	e = setup_choose_prefix(c, b, out->asked.p ? STR_NONE : in->prefix, !there);
	if (!e)
		e = beads_commit(c, b);
	beads_close(b);
	return e;
}

enum err setup_run(struct call *c, const struct setup_ask *in, struct beads *b, struct setup *out)
{
	enum err e;

	*out = (struct setup){ 0 };
	if ((e = setup_check_prefix(c, in->prefix)) ||
	    (in->remote.p && (e = config_check(c, CONFIG_SYNC_REMOTE, in->remote))) ||
	    (in->ref.p && (e = config_check(c, CONFIG_SYNC_REF, in->ref))) ||
	    (e = setup_begin(c, b, in, out)))
		return e;
	autosync_start(c, b);
	return ERR_OK;
}
