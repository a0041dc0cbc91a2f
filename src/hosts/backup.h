#ifndef HOSTS_BACKUP_H
#define HOSTS_BACKUP_H

#include "base/call.h"

/* Backups of the hosts' files, beside them: NAME.bak_<time>_<random>. */

enum err backup_put(struct call *c, struct str path, struct str content, struct str *copy);

/* The latest backup and its text; both absent if there is none. */
enum err backup_find(struct call *c, struct str path, struct str *copy, struct str *content);

#endif
