#include "store/db/bead_words.h"

#define NAMES(table, synonyms)                                \
	{                                                     \
		table, sizeof table / sizeof *table, synonyms \
	}

static const char *const statuses[] = {
	[BEAD_OPEN] = "open",
	[BEAD_IN_PROGRESS] = "in_progress",
	[BEAD_CLOSED] = "closed",
};
static const struct synonym status_synonyms[] = {
	{ "in-progress", BEAD_IN_PROGRESS },
	{ NULL, 0 },
};
const struct names bead_statuses = NAMES(statuses, status_synonyms);

static const char *const types[] = {
	[BEAD_BUG] = "bug",   [BEAD_FEATURE] = "feature", [BEAD_TASK] = "task",
	[BEAD_EPIC] = "epic", [BEAD_CHORE] = "chore",
};
static const struct synonym type_synonyms[] = {
	{ "feat", BEAD_FEATURE },
	{ "enhancement", BEAD_FEATURE },
	{ NULL, 0 },
};
const struct names bead_types = NAMES(types, type_synonyms);

static const char *const kinds[] = {
	[EDGE_BLOCKS] = "blocks",
	[EDGE_PARENT] = "parent",
	[EDGE_RELATED] = "related",
	[EDGE_DISCOVERED_FROM] = "discovered_from",
};
static const struct synonym kind_synonyms[] = {
	{ "parent-child", EDGE_PARENT },
	{ "relates-to", EDGE_RELATED },
	{ "discovered-from", EDGE_DISCOVERED_FROM },
	{ NULL, 0 },
};
const struct names edge_kinds = NAMES(kinds, kind_synonyms);

bool edge_is(struct str kind, enum edge_kind known)
{
	return str_is(kind, kinds[known]);
}
