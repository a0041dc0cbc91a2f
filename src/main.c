/*
 * A map of the source:
 *
 *	base        strings, arenas, time, errors, the call; text (JSON, UTF-8), system (files)
 *	store       everything that touches the disk: journal, agents' files; db, git, repo
 *	beads       work items: claims, graph, autosync; model (merge), repair
 *	agents      registry, mail, reservations, sessions, the guard
 *	board       posts, status, artifacts, unread messages
 *	continuity  state that survives a session: tasks as beads, resume, memory
 *	hosts       hosts of agents: their hooks and config files
 *	live        read models for the page: overview, conversation, feed
 *	op, ops     the type of operations; one file per operation, and their table
 *	surface     the user interfaces: cli, view, mcp, docs
 *	serve       the local service, a separate program: abacus-serve
 *	sync        commits and libgit2, a separate program: abacus-sync
 *
 * The name the program is started with selects the face; `abacus bd …` is the same as `bd …`, and
 * `bb-init …` is the same as `bb agent init --json …`.
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
	if (argc > 1 && str_is(path_name(str_of(argv[0])), "abacus") && !strcmp(argv[1], "bb-init"))
		return init_main(argc - 1, argv + 1);
	if (!face)
		face = &face_abacus;
	if (face == &face_abacus && argc > 1 && face_find(str_of(argv[1]))) {
		face = face_find(str_of(argv[1]));
		argv++;
	}
	return cli_main(face, argc > 0 ? argv + 1 : argv);
}
