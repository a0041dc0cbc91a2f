#ifndef HOSTS_HOOKS_H
#define HOSTS_HOOKS_H

#include "hosts/host.h"
#include "hosts/installer.h"

struct json;

/*
 * The entries in a host's file that make it call `vybe hook handle`: which file, in which shape,
 * for which events. Hosts without hooks have no file.
 */
struct str hooks_file(struct call *c, enum host_id host, enum host_scope scope, struct str root);

/* `command` calls the program from a shell; our entries are recognised by the words after it. */
struct hooks_entry {
	enum host_id host;
	struct str command;
};
struct install_edit hooks_edit(const struct hooks_entry *entry);

/* The events of a JSON file whose entry was added, replaced or left as it was. */
void hooks_changes(struct call *c, enum host_id host, struct str before, struct str after,
		   struct json *j);

/* Whether our entries are in the host's file; false for a project's file that is refused. */
bool hooks_there(struct call *c, enum host_id host, enum host_scope scope, struct str root);

/* Whether the hook's text at this event reaches the model. */
bool hooks_heard(enum host_id host, struct str event);

/* The output for a host, with this text for its model; absent: none. */
struct str hooks_answer(struct call *c, enum host_id host, struct str event, struct str text);

#endif
