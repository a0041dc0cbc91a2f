/* The settings of a clone, and beads from a Markdown file: other lines stay as they are, and
 * every value that counts is one that may be set. */
#include "beads/config.h"
#include "beads/plan/plan.h"
#include "folder.h"

static void check_settings(struct call *c, struct str text)
{
	struct str home = folder(), value, again;

	folder_put(c, "config", text);
	for (int key = 0; key < CONFIG_KEYS; key++) {
		enum config_key k = (enum config_key)key;

		if (config_find(c, home, k, &value) || !value.p)
			continue;
		rule(!config_check(c, k, value), "a value that counts may be set");
		rule(!config_put(c, home, k, value) && !config_find(c, home, k, &again) &&
			     str_eq(value, again),
		     "a value that is set is found");
		rule(!config_put(c, home, k, STR_NONE) && !config_find(c, home, k, &again) &&
			     !again.p,
		     "a value that is taken back is gone");
	}
}

static void check_drafts(struct call *c, struct str text)
{
	struct bead_plan plan;

	if (plan_parse(c, text, &plan))
		rule(c->message.n, "a file of beads is refused with a message");
	for (const struct plan_bead *b = plan.first; !c->code && b; b = b->next) {
		struct str title = b->draft.text[MEMBER_TITLE];

		rule(title.n && !memchr(title.p, '\n', title.n),
		     "every bead of a file has a title of one line");
		rule(!b->parent || b->parent->line < b->line, "a parent comes before its children");
	}
	c->code = ERR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size);
	struct call c = fuzz_call();

	check_settings(&c, text);
	check_drafts(&c, text);
	call_release(&c);
	return 0;
}
