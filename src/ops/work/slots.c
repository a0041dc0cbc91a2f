#include "store/slots.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct str name;
	int64_t count;
};

static const struct field set_fields[] = {
	{ "name", &kind_line, offsetof(struct body, name), FIELD_PLACE | FIELD_REQUIRED,
	  .arg = "NAME", .min = 1, .max = SLOT_NAME_MOST, .help = "name of the resource" },
	{ "count", &kind_int, offsetof(struct body, count), FIELD_PLACE | FIELD_REQUIRED,
	  .arg = "N", .min = 0, .max = SLOTS_MOST,
	  .help = "how many slots it has; 0 removes the resource" },
	{ 0 },
};

static const struct prop holder_props[] = {
	{ "slot:int pid:int agent|null command|null since|null", NULL },
	{ 0 },
};

static const struct prop props[] = {
	{ "name count:int waiting:int", NULL },
	{ "held[]", holder_props },
	{ 0 },
};

static enum err project_slots_run(struct call *c, struct stores *s, const void *body,
				  struct json *reply)
{
	struct slot_resource *one;
	enum err e = slots_each(c, &one);

	(void)s, (void)body;
	json_array(reply);
	for (; !e && one; one = one->next) {
		json_object(reply);
		json_put_str(reply, "name", one->name);
		json_put_int(reply, "count", one->count);
		json_put_int(reply, "waiting", one->waiting);
		json_put_array(reply, "held");
		for (const struct slot_holder *h = one->holders; h; h = h->next) {
			json_object(reply);
			json_put_int(reply, "slot", h->slot);
			json_put_int(reply, "pid", h->pid);
			json_put_str(reply, "agent", h->agent);
			json_put_str(reply, "command", h->command);
			json_put_moment(reply, "since", h->since_ms);
			json_end(reply);
		}
		json_end(reply);
		json_end(reply);
	}
	json_end(reply);
	return e;
}

static enum err project_slots_run_set(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	const struct body *in = body;
	enum err e;

	if (!slots_name_valid(in->name)) {
		call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' cannot be the name of a resource",
			  STR_ARG(in->name));
		return call_step(c, "Use letters, digits, '-' and '_': abacus slots set build 2");
	}
	if ((e = slots_set(c, in->name, in->count)))
		return e;
	return project_slots_run(c, s, body, reply);
}

const struct op op_project_slots = {
	.name = "project slots",
	.help = "Show the resources of this machine, and who holds them",
	.more = "'abacus slots set NAME N' makes a resource, or changes the number of its slots. "
		"'abacus run --need NAME -- COMMAND' waits for a slot, and runs the command.",
	.flags = OP_HOST,
	.reply = &(const struct prop){ "slots[]", props },
	.run = project_slots_run,
};

const struct op op_project_slots_set = {
	.name = "project slots set",
	.help = "Set how many slots a resource of this machine has",
	.more = "The resources are yours, on this machine, and shared by all of your projects. "
		"Running commands keep the slots that they hold.",
	.flags = OP_WRITE | OP_IDEMPOTENT | OP_HOST,
	OP_BODY(struct body, set_fields),
	.reply = &(const struct prop){ "slots[]", props },
	.run = project_slots_run_set,
};
