#include "beads/exchange/mention.h"

#include "base/system/path.h"
#include "base/system/spawn.h"
#include "beads/exchange/source.h"

struct str mention_find(struct call *c, const struct beads *b)
{
	enum source_kind kind;
	struct str path;

	if (b->about.beads || !b->repo.tree.p || !source_find(c, b->repo.tree, &kind, &path))
		return STR_NONE;
	return path_within(b->repo.tree, path) && path.n > b->repo.tree.n ?
		       str_skip(path, b->repo.tree.n + 1) :
		       path;
}

void mention_warn(struct call *c, const struct beads *b)
{
	struct str path = mention_find(c, b);

	if (path.p)
		call_warn(c,
			  "there are issues of another tracker in " STR_FMT
			  "; 'bd import' imports them, and 'bd import --dry-run' shows what it "
			  "would do",
			  STR_ARG(spawn_word(&c->mem, path)));
	else if (!b->about.beads && b->repo.tree.p && source_has_dolt(c, b->repo.tree))
		call_warn(c,
			  "the issues of upstream's bd are in a Dolt database, which only it can "
			  "read; 'bd export -o .beads/issues.jsonl' of upstream's bd, then 'bd "
			  "import' of this one");
}
