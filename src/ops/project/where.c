#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "beads/beads.h"
#include "op/op.h"
#include "ops/ops.h"
#include "store/agent_files.h"
#include "store/board/board_db.h"
#include "store/place.h"

/* abacus where: shows which stores are used from here, and why. */

static const struct prop store_props[] = { { "store path|null exists:bool why", NULL }, { 0 } };

static void project_where_put(struct json *reply, const char *store, struct str path, bool there,
			      struct str why)
{
	json_object(reply);
	json_put_str(reply, "store", str_of(store));
	json_put_str(reply, "path", path);
	json_put_bool(reply, "exists", there);
	json_put_str(reply, "why", why);
	json_end(reply);
}

/* Was a folder left in the workspace, although the store is in the Git directory? */
static bool bead_unused(struct call *c, const struct beads *b)
{
	struct str other = home_of_workspace(&c->mem, b->repo.common);

	return other.p && file_is_dir(&c->mem, other);
}

static struct str bead_reason(struct call *c, const struct beads *b, bool there)
{
	bool linked = !str_eq(path_real(&c->mem, b->repo.gitdir), b->repo.common);

	if (!there)
		return STR("there are no beads here yet; 'abacus init' sets them up");
	if (home_in_workspace(b->home))
		return STR(
			"in the workspace, because there is no folder 'abacus' in the Git "
			"directory; all worktrees share it, and 'abacus move-store git' moves it "
			"into the Git directory");
	return arena_fmt(&c->mem, "in the Git directory %s%s",
			 linked ? "that all worktrees share" : "of this repository",
			 bead_unused(c, b) ? "; the folder '.abacus' in the main worktree is there "
					     "too, but not used" :
					     "");
}

static bool is_refusal(enum err e)
{
	return e == ERR_DUBIOUS_OWNERSHIP || e == ERR_UNSAFE_PATH;
}

/* Reports a store that is refused, with the reason and the remedy. */
static void put_refused(struct call *c, struct json *reply, const char *store, struct str path)
{
	project_where_put(reply, store, path, path.p != NULL,
			  arena_fmt(&c->mem, STR_FMT ". " STR_FMT, STR_ARG(c->message),
				    STR_ARG(call_next_step(c))));
	call_forgive(c);
}

static enum err project_where_put_beads(struct call *c, struct json *reply)
{
	struct beads b = { 0 };
	struct file_found found;
	bool there;
	enum err e = beads_home(c, &b);

	if (is_refusal(e)) {
		put_refused(c, reply, "beads", e == ERR_UNSAFE_PATH ? b.home : STR_NONE);
		return ERR_OK;
	}
	if (e == ERR_NOT_A_REPOSITORY) {
		project_where_put(reply, "beads", STR_NONE, false,
				  STR("beads require a Git repository, and this folder is not in "
				      "one"));
		return call_forgive(c);
	}
	if (e || (e = file_look(c, b.home, &found)))
		return e;
	there = found.kind == FILE_FOLDER;
	project_where_put(reply, "beads", b.home, there, bead_reason(c, &b, there));
	return ERR_OK;
}

static struct str folder_reason(struct call *c, const struct repository *repo, struct str root)
{
	if (c->project.p)
		return STR("--dir or the environment names this project");
	if (str_eq(root, c->dir))
		return STR("in this folder");
	if (repo->tree.p && path_within(repo->tree, root))
		return STR("in the nearest parent folder, within the worktree");
	if (repo->tree.p && str_eq(root, repo->main))
		return STR("in the main worktree, because this is a linked worktree");
	return STR("in the nearest parent folder");
}

/* A store's folder at the root of the project, and the check that may refuse it. */
struct folder {
	const char *store;
	struct str name;
	enum err (*check)(struct call *c, struct str root);
};

static enum err put_folder(struct call *c, const struct folder *folder, struct json *reply)
{
	const char *store = folder->store;
	struct str name = folder->name, root;
	struct repository repo;
	enum err e = place_find(c, name, &root);

	if (!e && root.p)
		e = folder->check(c, root);
	if (is_refusal(e)) {
		put_refused(c, reply, store, root.p ? path_join(&c->mem, root, name) : root);
		return ERR_OK;
	}
	if (e)
		return e;
	if (place_repository(c, c->dir, &repo)) { /* only for the reason shown */
		repo = (struct repository){ 0 };
		call_forgive(c);
	}
	if (root.p) {
		project_where_put(reply, store, path_join(&c->mem, root, name), true,
				  folder_reason(c, &repo, root));
		return ERR_OK;
	}
	if ((e = place_new(c, name, &root)))
		return e;
	project_where_put(reply, store, path_join(&c->mem, root, name), false,
			  STR("not there yet; 'abacus init' creates it"));
	return ERR_OK;
}

static enum err project_where_run(struct call *c, struct stores *s, const void *body,
				  struct json *reply)
{
	static const struct folder board = { "board", { ".bb", 3 }, board_check },
				   agents = { "agents", { ".beadboard", 10 }, agent_files_check };
	enum err e;

	(void)s, (void)body;
	json_array(reply);
	if ((e = project_where_put_beads(c, reply)) || (e = put_folder(c, &board, reply)) ||
	    (e = put_folder(c, &agents, reply)))
		return e;
	json_end(reply);
	return ERR_OK;
}

const struct op op_project_where = {
	.name = "where",
	.help = "Show which stores are used here, and why",
	.reply = &(const struct prop){ "stores[]", store_props },
	.run = project_where_run,
};
