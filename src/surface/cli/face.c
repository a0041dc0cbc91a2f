#include "surface/cli/face.h"

const struct face *const faces[] = { &face_abacus, &face_bb, &face_bd, &face_vybe, NULL };

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
