#ifndef MACHINES_SHARE_H
#define MACHINES_SHARE_H

#include "base/system/lock.h"

/*
 * Sharing mail, reservations, posts and memory with the other machines of a team, through the Git
 * remote. It is off until 'abacus share on', for each clone. The files are in the folder
 * `machines` of the store: `on` (sharing is on), `key` (the private key), `machines.db`,
 * `objects` (Git objects of logs, apart from the user's), and locks.
 */

/* Is sharing on in this clone? Opens no file. False outside of a repository. */
bool share_is_on(struct call *c);

/* The folder `machines` of the call's repository, checked as beads_home() does. */
enum err share_home(struct call *c, struct str *out, struct str *gitdir);
bool share_is_on_in(struct call *c, struct str home);

/*
 * After a local change: tells the share process, and starts it if it does not run. Does nothing if
 * sharing or autosync is off. Never fails, and never touches the network.
 */
void share_changed(struct call *c);

/*
 * While a command waits for a change, the share process looks at the remote every two seconds.
 * share_wait_again() starts that process again if it has died.
 */
struct share_wait {
	int fd; /* -1: sharing is off */
};
struct share_wait share_wait_begin(struct call *c);
void share_wait_again(struct call *c);
void share_wait_end(struct share_wait *w);

/* For the share process: does any command wait? */
bool share_is_waited_for(struct call *c, struct str home);

/*
 * In a clone that does not share, a sync notes that other machines do. After that, share_hint() is
 * true once.
 */
void share_note_others(struct call *c, struct str store);
bool share_hint(struct call *c, struct str store);

/* When the last local change was reported; 0: never. */
int64_t share_changed_ms(struct call *c, struct str home);

/* Files in the folder `machines`. */
struct str share_file(struct call *c, struct str home, const char *name);

/* One exchange with the remote now, in a process of its own. The reply is JSON. */
enum share_act { SHARE_ONCE, SHARE_BEGIN, SHARE_LOOK };
enum err share_exchange(struct call *c, enum share_act act, struct str *reply);

/* Turns sharing on or off in this clone; `was` says what it was. */
enum err share_set(struct call *c, bool on, bool *was);

#endif
