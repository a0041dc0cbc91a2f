#ifndef LIVE_RULE_H
#define LIVE_RULE_H

#include "base/names.h"
#include "live/feed_sources.h"

/*
 * A rule runs a command when something changes in the project. Rules are files in the user's state
 * folder, not in the store: a program in a sandbox may write to the store, and must not be able to
 * choose a command that is run outside of the sandbox. Only the command line writes them. A second
 * file keeps the rule's place: its command has been run for every change before that place.
 */
enum { RULES_MOST = 100 };

struct rule {
	int64_t n;
	struct str event; /* "bead.closed", "bead.*", "mail" */
	struct str *labels;
	size_t label_count; /* the bead must have all of them */
	struct str *command;
	size_t words;
	struct str by; /* who added it */
	int64_t added_ms;
	struct rule *next;
};

extern const struct names rule_events; /* the events that a rule can name */

/* Adds the rule and sets its number. The rule starts with the next change. */
enum err rule_add(struct call *c, struct rule *r);
enum err rule_remove(struct call *c, int64_t n);       /* NOT_FOUND */
enum err rule_each(struct call *c, struct rule **out); /* by number */

/* The folder of the rules; the lock of the process that runs the rule. */
enum err rule_folder(struct call *c, struct str *out);
struct str rule_lock(struct call *c, struct str folder, int64_t n);

/*
 * The rule's place: a position in each source, and a time before which every change was handled.
 * False: there is no place that can be read.
 */
bool rule_place(struct call *c, struct str folder, int64_t n, struct sources *out, int64_t *at_ms);
enum err rule_put_place(struct call *c, struct str folder, int64_t n, const struct sources *s,
			int64_t at_ms);

/* One change for which a command is run. */
struct rule_event {
	struct str name, bead, by; /* bead and by may be absent */
	struct str data;           /* the event of the feed, as JSON */
};

/* The changes in an event of the feed that the rule names, whatever their labels. */
typedef void rule_match(void *arg, const struct rule_event *event);
void rule_match_each(struct call *c, const struct rule *r, const char *type, struct str data,
		     rule_match *match, void *arg);

/* The standard input of a command. */
struct str rule_input(struct call *c, const struct rule *r, const struct rule_event *event);

void rule_encode(struct json *j, const struct rule *r);

#endif
