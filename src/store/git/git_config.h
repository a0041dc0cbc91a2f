#ifndef STORE_GIT_GIT_CONFIG_H
#define STORE_GIT_GIT_CONFIG_H

#include "base/call.h"

/*
 * Git's configuration, read without Git. Files that cannot be read count as empty, and reading a
 * file stops at its first invalid line.
 */

/*
 * A callback for one setting. In `name`, the section and the key are in lower case: "user.name",
 * "url.git@Host:.insteadof". `value` is absent if the key stands alone.
 */
typedef void git_setting(void *arg, struct str name, struct str value);

/* Reports all settings of a text. */
void git_config_parse(struct arena *mem, struct str text, git_setting *see, void *arg);

/*
 * What Git calls protected configuration, which no repository can set: the system's file, the
 * user's files, their includes, and GIT_CONFIG_COUNT in the environment. Settings are reported in
 * this order, so the last one wins. Conditional includes are not followed, because they depend on
 * the repository.
 */
void git_config_protected(struct call *c, git_setting *see, void *arg);

/*
 * The user's name in Git's configuration; absent: not set. `common` is the Git directory of a
 * trusted repository, or absent.
 */
enum err git_config_user(struct call *c, struct str common, struct str *out);

/* Expands a path from a setting: "~/" is the user's home. */
struct str git_config_path(struct arena *mem, struct str value);

#endif
