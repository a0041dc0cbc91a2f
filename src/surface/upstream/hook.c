#include <stdlib.h>
#include <unistd.h>

#include "base/text/json.h"
#include "base/text/value.h"
#include "ops/upstream/upstream_ops.h"
#include "surface/cli/out.h"
#include "surface/upstream/compat.h"
#include "surface/view/view.h"

/* Becomes the user's own hook, which gets the arguments and the input of Git. */
static void hook_become(struct call *c, struct str path, const struct value *reply,
			const struct list *args)
{
	const struct str *word = args->item;
	const char **argv = arena_array(&c->mem, args->n + 2, sizeof *argv);

	argv[0] = arena_cstr(&c->mem, path);
	for (size_t i = 0; i < args->n; i++)
		argv[i + 1] = arena_cstr(&c->mem, word[i]);
	argv[args->n + 1] = NULL;
	setenv(UPSTREAM_CHAINED, arena_cstr(&c->mem, value_str(reply, "hook")), 1);
	execv(argv[0], (char *const *)argv);
}

int compat_hook_start(struct call *c, const struct request *r)
{
	struct json reply = json_new(&c->mem);
	const struct value *data;
	struct str chained;

	if (request_run(c, r, &reply))
		return 0;
	data = value_read(&c->mem, json_text(&reply));
	chained = value_str(data, "chained");
	if (chained.p)
		hook_become(c, chained, data, request_value(r, ROLE_INPUT));
	return 0;
}

int compat_prime_start(struct call *c, const struct request *r)
{
	struct json reply = json_new(&c->mem);
	struct str answer;

	if (request_run(c, r, &reply))
		return 0;
	answer = value_str(value_read(&c->mem, json_text(&reply)), "answer");
	if (answer.n)
		out_text(&c->mem,
			 arena_fmt(&c->mem, STR_FMT "%s", STR_ARG(answer),
				   str_ends(answer, STR("\n")) ? "" : "\n"),
			 0);
	return 0;
}

void compat_view_merge(struct view *v, const struct value *data)
{
	(void)v, (void)data; /* Git shows the output of a merge driver, and a merge needs none */
}

static void hook_view_one(struct view *v, const struct value *one)
{
	struct str change = value_str(one, "change"), calls = value_str(one, "calls");

	view_line(v, STR_FMT ": %s" STR_FMT, STR_ARG(value_str(one, "hook")),
		  change.p ? "" : "calls ", STR_ARG(change.p ? change : calls));
}

void compat_view_hooks(struct view *v, const struct value *data)
{
	view_each(v, data, hook_view_one);
}
