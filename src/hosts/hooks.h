#ifndef HOSTS_HOOKS_H
#define HOSTS_HOOKS_H

#include "hosts/host.h"
#include "hosts/installer.h"

struct json;

/*
 * How each host is told to call us: which of its files, in which shape, for which of its events.
 * Hosts without hooks have no file.
 */
struct str hooks_file(struct call *c, enum host_id host, enum host_scope scope, struct str root);

/* `command` is the program, quoted for a shell; our entries are known by what follows. */
struct hooks_entry {
	enum host_id host;
	struct str command;
};
struct install_edit hooks_edit(const struct hooks_entry *entry);

/* What became of a file of JSON, as lists of events: ours is there now, it is another one than
 * before, it is as it was. */
void hooks_changes(struct call *c, enum host_id host, struct str before, struct str after,
		   struct json *j);

/* Are our entries in the host's file? A file of a project that is refused has none. */
bool hooks_there(struct call *c, enum host_id host, enum host_scope scope, struct str root);

/* Does what we say at this event reach the host's model? */
bool hooks_heard(enum host_id host, struct str event);

/* What a host wants to read: the text is for its model. Absent: nothing. */
struct str hooks_answer(struct call *c, enum host_id host, struct str event, struct str text);

#endif
