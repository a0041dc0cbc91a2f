#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "beads/beads.h"
#include "beads/exchange/mirror.h"
#include "op/op.h"
#include "ops/ops.h"
#include "ops/upstream/upstream_ops.h"

/* The mirrored file of this worktree; false: there is none. */
static bool upstream_mirrored(struct call *c, struct str *file)
{
	struct beads b;

	if (beads_home(c, &b) || !b.repo.tree.p || !mirror_enabled(c, &b))
		return false;
	*file = path_join(&c->mem, b.repo.tree, STR(".beads/issues.jsonl"));
	return file_exists(&c->mem, *file);
}

void upstream_take_in(struct call *c)
{
	struct json report = json_new(&c->mem);
	struct request r = request_new(c, &op_bead_import);
	struct call before = call_save(c);
	struct str file;

	if (upstream_mirrored(c, &file) && !request_set_named(c, &r, "file", file) &&
	    !request_check(c, &r))
		request_run(c, &r, &report);
	call_restore(c, &before);
}
