#include "beads/config.h"

#include <strings.h>

#include "base/buf.h"
#include "base/moment.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/url.h"

static const char *const words[] = {
	[CONFIG_CLAIM_EXCLUSIVE] = "claim.exclusive",
	[CONFIG_CLAIM_LEASE] = "claim.lease",
	[CONFIG_COMMIT_TRAILER] = "commit.trailer",
	[CONFIG_GUARD_AUTO] = "guard.auto",
	[CONFIG_HOSTS_TASKS] = "hosts.tasks",
	[CONFIG_JSON_DIALECT] = "json.dialect",
	[CONFIG_MIRROR_BEADS] = "mirror.beads",
	[CONFIG_STUCK_AFTER] = "stuck.after",
	[CONFIG_SYNC_AUTO] = "sync.auto",
	[CONFIG_SYNC_MAX_FILE] = "sync.max_file",
	[CONFIG_SYNC_PUSH_INTERVAL] = "sync.push_interval",
	[CONFIG_SYNC_REF] = "sync.ref",
	[CONFIG_SYNC_REMOTE] = "sync.remote",
};
const struct names config_keys = { words, CONFIG_KEYS, NULL };

static bool config_is_bool(struct str value)
{
	return str_is(value, "true") || str_is(value, "false");
}

static bool config_is_dialect(struct str value)
{
	return str_is(value, "specification") || str_is(value, "upstream");
}

static bool config_is_duration(struct str value)
{
	int64_t ms;

	return duration_parse(value, &ms) && ms > 0 && ms < MOMENT_LAST / 2;
}

/* Digits and k, m or g: 256m. */
static bool config_parse_size(struct str value, int64_t *bytes)
{
	static const char units[] = "kmg";
	const char *unit = value.n ? strchr(units, value.p[value.n - 1] | 0x20) : NULL;

	if (!unit || !*unit || !number_int(str_head(value, value.n - 1), bytes) || *bytes < 1 ||
	    *bytes > 1 << 20)
		return false;
	*bytes <<= 10 * (unit - units + 1);
	return true;
}

static bool config_is_size(struct str value)
{
	int64_t bytes;

	return config_parse_size(value, &bytes);
}

/* Some file systems ignore case. */
static bool config_is_below(struct str ref, struct str folder)
{
	return ref.n >= folder.n && !strncasecmp(ref.p, folder.p, folder.n);
}

/* A name that Git accepts as a ref, roughly, outside of the user's branches and tags, and of what
 * Git itself keeps there: a ref below refs/replace would replace a commit of the user. */
static bool config_is_ref(struct str value)
{
	static const char *const theirs[] = { "refs/heads/",   "refs/tags/",     "refs/remotes/",
					      "refs/notes/",   "refs/stash",     "refs/replace/",
					      "refs/bisect/",  "refs/worktree/", "refs/rewritten/",
					      "refs/prefetch/" };

	for (size_t i = 0; i < value.n; i++)
		if ((unsigned char)value.p[i] <= ' ' || strchr("~^:?*[\\\x7f", value.p[i]))
			return false;
	for (size_t i = 0; i + 1 < value.n; i++)
		if ((value.p[i] == '.' || value.p[i] == '/') && value.p[i + 1] == value.p[i])
			return false;
	for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
		if (config_is_below(value, str_of(theirs[i])) &&
		    !str_is(value, "refs/heads/beads/store"))
			return false;
	return str_starts(value, STR("refs/")) && value.n > 5 && value.p[value.n - 1] != '/' &&
	       value.p[value.n - 1] != '.' && !str_ends(value, STR(".lock"));
}

/* The name of a remote, without characters that Git refuses in names or that a shell interprets.
 * Not a URL: a URL may have a password, which belongs in Git's configuration. */
static bool config_is_remote(struct str value)
{
	for (size_t i = 0; i < value.n; i++)
		if ((unsigned char)value.p[i] <= ' ' ||
		    strchr(":~^?*[\\\x7f$`\"'(){}<>|&;!#", value.p[i]))
			return false;
	return value.n && value.p[0] != '-';
}

static const struct rule {
	const char *help, *otherwise, *want;
	bool (*fits)(struct str value);
} rules[] = {
	[CONFIG_CLAIM_EXCLUSIVE] = { "make every claim at the Git remote first", "false",
				     "true or false", config_is_bool },
	[CONFIG_CLAIM_LEASE] = { "lease duration of a claim", "1h", "a duration such as 30m or 2h",
				 config_is_duration },
	[CONFIG_COMMIT_TRAILER] = { "add a line 'Bead: ID' to the commits of 'abacus work'",
				    "false", "true or false", config_is_bool },
	[CONFIG_GUARD_AUTO] = { "reserve a file for the current bead when a host's tool writes it",
				"false", "true or false", config_is_bool },
	[CONFIG_HOSTS_TASKS] = { "turn a host's task list into beads below the current bead",
				 "false", "true or false", config_is_bool },
	[CONFIG_JSON_DIALECT] = { "shape of bd's JSON", "specification",
				  "specification or upstream", config_is_dialect },
	[CONFIG_MIRROR_BEADS] = { "keep .beads/issues.jsonl up to date for other programs", "false",
				  "true or false", config_is_bool },
	[CONFIG_STUCK_AFTER] = { "time after which an agent that reports nothing is stuck", "10m",
				 "a duration such as 10m or 1h", config_is_duration },
	[CONFIG_SYNC_AUTO] = { "publish changes automatically", "true", "true or false",
			       config_is_bool },
	[CONFIG_SYNC_MAX_FILE] = { "size limit of a file in a commit", "256m",
				   "a size such as 256m or 1g", config_is_size },
	[CONFIG_SYNC_PUSH_INTERVAL] = { "minimum time between two pushes", "5s",
					"a duration such as 5s or 1m", config_is_duration },
	[CONFIG_SYNC_REF] = { "Git ref to publish to", "refs/beads/store",
			      "a ref such as refs/beads/store", config_is_ref },
	[CONFIG_SYNC_REMOTE] = { "Git remote to publish to", "origin", "the name of a remote",
				 config_is_remote },
};

const char *config_help(enum config_key key)
{
	return rules[key].help;
}

const char *config_default(enum config_key key)
{
	return rules[key].otherwise;
}

static struct str config_path_of(struct call *c, struct str home)
{
	return path_join(&c->mem, home, STR("config"));
}

/* Splits a line; an absent key: a comment, or an empty line. */
static struct str config_key_of(struct str line, struct str *value)
{
	struct str key;

	line = str_trim(line);
	if (!line.n || line.p[0] == '#' || !memchr(line.p, '=', line.n))
		return STR_NONE;
	str_next(&line, '=', &key);
	*value = str_trim(line);
	return str_trim(key);
}

/* Absent: not set. */
static struct str config_value_in(struct str text, enum config_key key)
{
	struct str line, value, name, found = STR_NONE;

	while (str_next(&text, '\n', &line)) {
		name = config_key_of(line, &value);
		if (name.p && str_is(name, names_word(&config_keys, key)) && rules[key].fits(value))
			found = value;
	}
	return found;
}

enum err config_find(struct call *c, struct str home, enum config_key key, struct str *out)
{
	struct str text;
	enum err e = file_own_read(c, config_path_of(c, home), &text);

	*out = e ? STR_NONE : config_value_in(text, key);
	return e;
}

enum err config_claims(struct call *c, struct str home, int64_t *lease_ms, bool *exclusive)
{
	struct str text, lease = { 0 };
	enum err e = file_own_read(c, config_path_of(c, home), &text);

	if (!e)
		lease = config_value_in(text, CONFIG_CLAIM_LEASE);
	duration_parse(lease.p ? lease : str_of(config_default(CONFIG_CLAIM_LEASE)), lease_ms);
	*exclusive = !e && str_is(config_value_in(text, CONFIG_CLAIM_EXCLUSIVE), "true");
	return e;
}

enum err config_get(struct call *c, struct str home, enum config_key key, struct str *out)
{
	enum err e = config_find(c, home, key, out);

	if (!out->p)
		*out = str_of(config_default(key));
	return e;
}

enum err config_duration(struct call *c, struct str home, enum config_key key, int64_t *ms)
{
	struct str text;
	enum err e = config_get(c, home, key, &text);

	duration_parse(text, ms);
	return e;
}

enum err config_size(struct call *c, struct str home, enum config_key key, int64_t *bytes)
{
	struct str text;
	enum err e = config_get(c, home, key, &text);

	config_parse_size(text, bytes);
	return e;
}

enum err config_check(struct call *c, enum config_key key, struct str value)
{
	if (rules[key].fits(value))
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT, "%s is %s, not '" STR_FMT "'",
			 names_word(&config_keys, key), rules[key].want,
			 STR_ARG(url_hide(&c->mem, value)));
}

/* Keeps every other line, except for empty ones. */
static enum err config_write(struct call *c, struct str home, struct str key, struct str value)
{
	struct buf out = { .mem = &c->mem };
	struct str text, line, old, name;
	enum err e;

	if ((e = file_remove_leftovers(c, config_path_of(c, home))) ||
	    (e = file_own_read(c, config_path_of(c, home), &text)))
		return e;
	while (str_next(&text, '\n', &line)) {
		name = config_key_of(line, &old);
		if (!line.n || (name.p && str_eq(name, key)))
			continue;
		buf_fmt(&out, STR_FMT "\n", STR_ARG(line));
	}
	if (value.p)
		buf_fmt(&out, STR_FMT " = " STR_FMT "\n", STR_ARG(key), STR_ARG(value));
	if (!(e = file_own_replace(c, config_path_of(c, home), buf_str(&out), 0600)))
		call_stored(c, STORED_PART);
	return e;
}

enum err config_put(struct call *c, struct str home, enum config_key key, struct str value)
{
	enum err e = value.p ? config_check(c, key, value) : ERR_OK;

	return e ? e : config_write(c, home, str_of(names_word(&config_keys, key)), value);
}

/* --- free settings --- */

bool config_is_free(struct str key)
{
	bool parts = false;

	for (size_t i = 0; i < key.n; i++) {
		char ch = key.p[i], lower = (char)(ch | 0x20);
		bool between = ch == '.' || ch == '_' || ch == '-';

		if (!(lower >= 'a' && lower <= 'z') && !(ch >= '0' && ch <= '9') && !between)
			return false;
		parts = parts || between;
	}
	for (int i = 0; i < CONFIG_KEYS; i++) {
		struct str ours = str_of(words[i]), group;

		str_next(&ours, '.', &group);
		if (str_starts(key, group) && key.n > group.n && key.p[group.n] == '.')
			return false;
	}
	return parts;
}

enum err config_each_free(struct call *c, struct str home, struct config_setting **out)
{
	struct str text, line, value, name;
	enum err e = file_own_read(c, config_path_of(c, home), &text);

	*out = NULL;
	while (!e && str_next(&text, '\n', &line)) {
		name = config_key_of(line, &value);
		if (!name.p || !config_is_free(name))
			continue;
		*out = arena_new(&c->mem, struct config_setting);
		**out = (struct config_setting){ name, value, NULL };
		out = &(*out)->next;
	}
	return e;
}

enum err config_find_free(struct call *c, struct str home, struct str key, struct str *out)
{
	struct config_setting *one;
	enum err e = config_each_free(c, home, &one);

	*out = STR_NONE;
	for (; !e && one; one = one->next)
		if (str_eq(one->key, key))
			*out = one->value;
	return e;
}

enum err config_put_free(struct call *c, struct str home, struct str key, struct str value)
{
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] == '\n' || value.p[i] == '\r')
			return call_fail(c, ERR_INVALID_INPUT, "a setting must be one line");
	return config_write(c, home, key, value);
}
