#ifndef STORE_GIT_GIT_CONFIG_H
#define STORE_GIT_GIT_CONFIG_H

#include "base/call.h"

/*
 * Git's configuration, read without Git. Files that cannot be read count as empty, and a file
 * ends at its first line that is not one of Git's.
 */

/*
 * One setting. In `name`, the section and the key are in lower case: "user.name",
 * "url.git@Host:.insteadof". `value` is absent where the key stands alone.
 */
typedef void git_setting(void *arg, struct str name, struct str value);

/* The settings in a text. */
void git_config_parse(struct arena *mem, struct str text, git_setting *see, void *arg);

/*
 * What Git calls protected configuration, which no repository can set: the system's file, the
 * user's, what these include, and GIT_CONFIG_COUNT of the environment. In this order: the last
 * one counts. Conditional includes are not followed, because they depend on the repository.
 */
void git_config_protected(struct call *c, git_setting *see, void *arg);

/* The user's name as Git knows it; absent: it does not. `common` is the Git directory of a
 * repository that may be trusted, or absent. */
enum err git_config_user(struct call *c, struct str common, struct str *out);

/* A path as Git reads it from a setting: "~/" is the user's home. */
struct str git_config_path(struct arena *mem, struct str value);

#endif
