#include "base/system/file.h"
#include "base/system/path.h"
#include "beads/beads.h"
#include "beads/exchange/mirror.h"
#include "ops/exchange/exchange_ops.h"
#include "ops/upstream/upstream_ops.h"

/* The mirrored file of this worktree; false: there is none. The user has not named the file, and a
 * pull may have put a link to any other file of the user, or a FIFO, in its place. */
static bool upstream_mirrored(struct call *c, struct str *file)
{
	struct beads b;
	struct str dir;

	if (beads_home(c, &b) || !b.repo.tree.p || !mirror_enabled(c, &b))
		return false;
	dir = path_join(&c->mem, b.repo.tree, STR(".beads"));
	*file = path_join(&c->mem, dir, STR("issues.jsonl"));
	return !path_is_link(&c->mem, dir) && file_exists(&c->mem, *file) &&
	       !file_own_check(c, *file);
}

void upstream_take_in(struct call *c)
{
	struct call before = call_save(c);
	struct str file;

	if (upstream_mirrored(c, &file))
		exchange_take_in(c, file);
	call_restore(c, &before);
}
