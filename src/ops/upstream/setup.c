#include "base/text/json.h"
#include "hosts/hooks.h"
#include "ops/ops.h"
#include "ops/vybe/vybe_ops.h"
#include "store/place.h"

/* bd setup: installs the hooks of a host, as 'vybe hook install' does. */

struct body {
	int host;
	bool check, remove, project, list, ignored;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "host", &kind_word, AT(host), FIELD_PLACE, .arg = "HOST", .words = &hosts,
	  .help = "host of agents" },
	{ "check", &kind_bool, AT(check), .help = "show whether it is set up" },
	{ "remove", &kind_bool, AT(remove), .help = "undo the set-up" },
	{ "project", &kind_bool, AT(project), .help = "use the project's file, not the user's" },
	{ "list", &kind_bool, AT(list), .help = "list the hosts" },
	{ "global", &kind_bool, AT(ignored), FIELD_HIDDEN, .also = "stealth",
	  .help = "accepted for compatibility, without effect" },
	{ 0 },
};

static const struct prop props[] = { { "host? path|null? installed:bool? hosts[]?", NULL }, { 0 } };

static enum err setup_list(struct json *reply)
{
	json_object(reply);
	json_put_array(reply, "hosts");
	for (int i = 0; i < HOST_COUNT; i++)
		json_str(reply, str_of(names_word(&hosts, i)));
	json_end(reply);
	json_end(reply);
	return ERR_OK;
}

static enum err upstream_setup_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;
	enum host_scope scope = in->project ? HOST_PROJECT : HOST_USER;
	enum host_id host = (enum host_id)in->host;
	struct json done = json_new(&c->mem);
	struct str root;
	enum err e;

	(void)s;
	if (in->list)
		return setup_list(reply);
	if (in->host < 0) {
		call_fail(c, ERR_USAGE, "HOST is missing");
		return call_step(c, "Run 'bd setup --list' to see the hosts.");
	}
	if (!in->check && (e = vybe_hook_set_up(c, host, in->project, !in->remove, &done)))
		return e;
	if ((e = place_new(c, STR(".bb"), &root)))
		return e;
	json_object(reply);
	json_put_str(reply, "host", str_of(names_word(&hosts, in->host)));
	json_put_str(reply, "path", hooks_file(c, host, scope, root));
	json_put_bool(reply, "installed", hooks_there(c, host, scope, root));
	json_end(reply);
	return ERR_OK;
}

const struct op op_upstream_setup = {
	.name = "upstream setup",
	.help = "Install hooks that show a host the state of the work",
	.more = "The same as 'vybe hook install'. Entries of upstream's bd in the host's file stay, "
		"and keep working.",
	.flags = OP_WRITE | OP_HOST | OP_IDEMPOTENT,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "setup", props },
	.run = upstream_setup_run,
};
