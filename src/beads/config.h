#ifndef BEADS_CONFIG_H
#define BEADS_CONFIG_H

#include "base/call.h"
#include "base/names.h"

/* Deletions are remembered for at least 7 days. */
#define SYNC_TTL_LEAST_MS (INT64_C(7) * 24 * 3600 * 1000)

/* Settings of this clone: lines of `key = value` in the file `config` of the store. */
enum config_key {
	CONFIG_CLAIM_EXCLUSIVE,
	CONFIG_CLAIM_LEASE,
	CONFIG_COMMIT_TRAILER,
	CONFIG_GUARD_AUTO,
	CONFIG_HOSTS_TASKS,
	CONFIG_JSON_DIALECT,
	CONFIG_MIRROR_BEADS,
	CONFIG_STUCK_AFTER,
	CONFIG_SYNC_AUTO,
	CONFIG_SYNC_MAX_FILE,
	CONFIG_SYNC_PUSH_INTERVAL,
	CONFIG_SYNC_REF,
	CONFIG_SYNC_REMOTE,
	CONFIG_KEYS,
};
extern const struct names config_keys;

const char *config_help(enum config_key key);

/* The default. */
const char *config_default(enum config_key key);

enum err config_find(struct call *c, struct str home, enum config_key key,
		     struct str *out); /* absent: not set */

/* The value that is set, or the default. */
enum err config_get(struct call *c, struct str home, enum config_key key, struct str *out);
enum err config_duration(struct call *c, struct str home, enum config_key key, int64_t *ms);

/* The settings for claims, which every writer needs: both from one reading of the file. */
enum err config_claims(struct call *c, struct str home, int64_t *lease_ms, bool *exclusive);

enum err config_size(struct call *c, struct str home, enum config_key key, int64_t *bytes);

enum err config_check(struct call *c, enum config_key key, struct str value);

/* Checks and sets the value; an absent value removes the setting. Needs the writer's lock. */
enum err config_put(struct call *c, struct str home, enum config_key key, struct str value);

/*
 * Settings of other programs: any key of several parts, such as "jira.url" or "issue-prefix", whose
 * first part is not that of a setting of this program. Their values are stored but not used.
 */
bool config_is_free(struct str key);
enum err config_find_free(struct call *c, struct str home, struct str key, struct str *out);
enum err config_put_free(struct call *c, struct str home, struct str key, struct str value);

struct config_setting {
	struct str key, value;
	struct config_setting *next;
};
enum err config_each_free(struct call *c, struct str home, struct config_setting **out);

#endif
