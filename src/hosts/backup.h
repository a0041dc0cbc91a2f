#ifndef HOSTS_BACKUP_H
#define HOSTS_BACKUP_H

#include "base/call.h"

/* Copies of files that belong to others, beside them: NAME.bak_<time>_<random>. */

enum err backup_put(struct call *c, struct str path, struct str content, struct str *copy);

/* The latest copy and what it holds; both absent if there is none. */
enum err backup_find(struct call *c, struct str path, struct str *copy, struct str *content);

#endif
