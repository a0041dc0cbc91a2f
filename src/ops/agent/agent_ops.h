#ifndef OPS_AGENT_AGENT_OPS_H
#define OPS_AGENT_AGENT_OPS_H

#include "agents/registry.h"
#include "op/op.h"

struct wait_answer;
struct wait_ask;

/* Like wait_for(), but also waits for changes from other machines. */
enum err agent_wait_for(struct call *c, struct agent_files *f, const struct wait_ask *ask,
			struct wait_answer *out);

/* What the operations of agents share. */

#define AGENT_READ  OP_AGENTS
#define AGENT_WRITE (OP_AGENTS | OP_WRITE)

#define AGENT_FIELD(body, member, text) AGENT_FIELD_AS(body, member, 0, text)
#define WHOSE_FIELD(body, member, text) AGENT_FIELD_AS(body, member, FIELD_WHOSE, text)
/* clang-format off */
#define AGENT_FIELD_AS(body, member, more, text) \
	{ "agent", &kind_str, offsetof(body, member), FIELD_ACTOR | FIELD_REQUIRED | (more), \
	  .arg = "AGENT", .min = 1, .max = 200, .help = text }
/* clang-format on */

extern const struct prop registered_props[];
extern const struct prop reservation_props[];
extern const struct prop stuck_props[];
extern const struct prop registered_reply, registered_list_reply;

#endif
