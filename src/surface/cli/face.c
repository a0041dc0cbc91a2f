#include "surface/cli/face.h"

const struct face *const faces[] = { &face_abacus, &face_bb, &face_bd, &face_vybe, NULL };

static bool face_owns(const struct face *face, const char *variable)
{
	for (const char *const *own = face->actor_variables; own && *own; own++)
		if (!strcmp(*own, variable))
			return true;
	return false;
}

size_t face_actor_variables(const struct face *face, const char *out[ACTOR_VARIABLES])
{
	static const char *const all[ACTOR_VARIABLES] = { "ABACUS_AGENT", "BD_ACTOR", "BEADS_ACTOR",
							  "BB_AGENT_ID", "VYBE_AGENT" };
	size_t count = 0;

	for (int own = 1; own >= 0; own--)
		for (size_t i = 0; i < ACTOR_VARIABLES; i++)
			if (face_owns(face, all[i]) == own)
				out[count++] = all[i];
	return count;
}

const struct face *face_find(struct str name)
{
	for (const struct face *const *face = faces; *face; face++)
		if (str_is(name, (*face)->name))
			return *face;
	return NULL;
}

const struct command *face_command(const struct face *face, struct str words)
{
	for (const struct command *cmd = face->commands; cmd->words; cmd++)
		if (str_is(words, cmd->words))
			return cmd;
	return NULL;
}

bool field_on_cli(const struct field *f)
{
	return !(f->flags & FIELD_WIRE);
}

bool field_shown(const struct field *f)
{
	return field_on_cli(f) && !(f->flags & FIELD_HIDDEN);
}
