/*
 * A map of the source, for whoever starts here:
 *
 *	base     strings, arenas, JSON, UTF-8, time, files, locks, errors, the call
 *	store    the only code that touches SQLite, libgit2 and the files on disk
 *	beads    work items: model, merge, journal, cache, claims, validation, sync
 *	agents   who works here, their mail, their files, sessions, the guard
 *	board    the blackboard's rules: presence, messages, artifacts, what is unread
 *	continuity  what survives a session: tasks as beads, resume, memory, hooks of
 *hosts ops      one page per operation, and the table of them surface  what people and
 *agents see: commands, help, views, MCP
 *
 * What needs libgit2 is another program, abacus-sync: see sync_main.c.
 *
 * The name under which the program is started chooses the face; `abacus bd …` is
 * the same as `bd …`, and `bb-init …` is `bb agent init --json …`.
 */
#include <stdlib.h>

#include "base/system/path.h"
#include "base/system/signals.h"
#include "surface/cli/cli.h"
#include "surface/cli/face.h"

static int init_main(int argc, char **argv)
{
	static const char *const words[] = { "agent", "init", "--json" };
	char **all = calloc((size_t)argc + 4, sizeof *all);

	if (!all)
		abort();
	memcpy(all, words, sizeof words);
	memcpy(all + 3, argv + 1, (size_t)(argc - 1) * sizeof *all);
	argc = cli_main(&face_bb, all);
	free(all);
	return argc;
}

int main(int argc, char **argv)
{
	const struct face *face = argc > 0 ? face_find(path_name(str_of(argv[0]))) : NULL;

	signals_ignore();
	if (argc > 0 && str_is(path_name(str_of(argv[0])), "bb-init"))
		return init_main(argc, argv);
	if (argc > 1 && str_is(path_name(str_of(argv[0])), "abacus") &&
	    !strcmp(argv[1], "bb-init"))
		return init_main(argc - 1, argv + 1);
	if (!face)
		face = &face_abacus;
	if (face == &face_abacus && argc > 1 && face_find(str_of(argv[1]))) {
		face = face_find(str_of(argv[1]));
		argv++;
	}
	return cli_main(face, argc > 0 ? argv + 1 : argv);
}
