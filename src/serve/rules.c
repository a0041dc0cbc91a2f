#include "base/system/file.h"
#include "base/system/spawn.h"
#include "live/rule.h"
#include "serve/serve.h"

#include <sys/wait.h>

static const char *const *rules_argv(struct call *c)
{
	const char **words = arena_array(&c->mem, 7, sizeof *words);
	int n = 0;

	words[n++] = arena_cstr(&c->mem, spawn_beside(&c->mem, STR("bin/abacus")));
	words[n++] = "--dir";
	words[n++] = arena_cstr(&c->mem, c->project.p ? c->project : c->dir);
	words[n++] = "on";
	words[n++] = "--run";
	words[n++] = "--tied";
	return words;
}

void rules_tick(const struct call *start, struct workers *w, struct rules_runner *r)
{
	struct call c = call_part(start);
	struct rule *rules;

	if (r->pid && waitpid(r->pid, NULL, WNOHANG) == r->pid)
		rules_stop(r);
	if (!r->pid && !rule_each(&c, &rules) && rules)
		workers_start_tied(w, rules_argv(&c), &r->pid, &r->fd);
	call_release(&c);
}

void rules_stop(struct rules_runner *r)
{
	if (r->pid)
		file_close(&r->fd);
	r->pid = 0;
}
