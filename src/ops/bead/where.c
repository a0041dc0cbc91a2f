#include "base/system/path.h"
#include "base/text/json.h"
#include "beads/config.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

static const struct prop where_props[] = {
	{ "repository worktree git_dir store|null exists:bool ref|null why", NULL },
	{ 0 },
};

static struct str bead_where_explanation(struct call *c, const struct beads *b)
{
	if (home_in_workspace(b->home))
		return STR("the store is in the workspace, because there is no folder 'abacus' in "
			   "the Git directory; all worktrees share it");
	if (str_eq(b->repo.tree, b->repo.gitdir))
		return STR("this is a bare repository, and the store is inside it");
	if (!str_eq(path_real(&c->mem, b->repo.gitdir), b->repo.common))
		return STR("this is a linked worktree, and all worktrees share the store in the "
			   "common Git directory");
	return STR("the store is in the Git directory of the repository around this folder");
}

/* Does a store exist, readable or not? */
static bool bead_where_exists(struct call *c)
{
	struct beads b;
	enum err e = beads_open(c, BEADS_READ, &b);

	if (!e)
		beads_close(&b);
	call_forgive(c);
	return e != ERR_NOT_INITIALIZED;
}

static void bead_where_put_where(struct json *reply, const struct beads *b, struct str ref,
				 bool there, struct str why)
{
	json_object(reply);
	json_put_str(reply, "repository", b->repo.main);
	json_put_str(reply, "worktree", b->repo.tree);
	json_put_str(reply, "git_dir", b->repo.common);
	json_put_str(reply, "store", b->home);
	json_put_bool(reply, "exists", there);
	json_put_str(reply, "ref", ref);
	json_put_str(reply, "why", why);
	json_end(reply);
}

static enum err bead_where_run_where(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	struct beads b;
	struct str ref;
	enum err e = beads_home(c, &b);

	(void)s, (void)body;
	if (e == ERR_DUBIOUS_OWNERSHIP) {
		bead_where_put_where(reply, &b, STR_NONE, false,
				     arena_fmt(&c->mem, STR_FMT ". " STR_FMT, STR_ARG(c->message),
					       STR_ARG(call_next_step(c))));
		return call_forgive(c);
	}
	if (e || (e = config_find(c, b.home, CONFIG_SYNC_REF, &ref)))
		return e;
	bead_where_put_where(reply, &b, ref.p ? ref : str_of(config_default(CONFIG_SYNC_REF)),
			     bead_where_exists(c), bead_where_explanation(c, &b));
	return ERR_OK;
}

const struct op op_bead_where = {
	.name = "bead where",
	.help = "Show which store is used here, and why",
	.reply = &(const struct prop){ "where", where_props },
	.run = bead_where_run_where,
};
