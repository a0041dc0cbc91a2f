#include "beads/exchange/mirror.h"

#include <sys/stat.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/config.h"
#include "beads/exchange/export.h"
#include "beads/exchange/import.h"
#include "beads/git_process.h"
#include "store/exposed.h"
#include "store/owner.h"

enum {
	QUIET_MS = 100,     /* quiet time after the last change */
	HELD_MOST_MS = 400, /* but at most so long after the first */
	WAIT_MS = 20000,    /* limit of mirror_wait() */
	PROBE_MS = 200,     /* longer than a check for a running process holds the lock */
};

/* The main worktree; absent: the repository has none. */
static struct str mirror_tree(const struct beads *b)
{
	if (str_is(path_name(b->repo.common), ".git"))
		return path_parent(b->repo.common);
	return b->repo.main.p && !str_eq(b->repo.main, b->repo.common) ? b->repo.main : STR_NONE;
}

bool mirror_enabled(struct call *c, const struct beads *b)
{
	struct call before = call_save(c);
	struct str set = { 0 };

	if (!c->store.p && mirror_tree(b).p)
		config_get(c, b->home, CONFIG_MIRROR_BEADS, &set);
	call_restore(c, &before);
	return str_is(set, "true");
}

static struct str mirror_lock_path(struct call *c, const struct beads *b)
{
	return path_join(&c->mem, b->home, STR("mirror.lock"));
}

void mirror_start(struct call *c, const struct beads *b)
{
	const char *argv[] = { NULL, "mirror", arena_cstr(&c->mem, b->repo.common), NULL };

	/* a process that runs already will find the new record */
	if (!mirror_enabled(c, b) || lock_held(c, mirror_lock_path(c, b)))
		return;
	argv[0] = arena_cstr(&c->mem, git_process_path(&c->mem));
	spawn_away(argv);
}

enum err mirror_wait(struct call *c, const struct beads *b)
{
	struct git_process h = { .words = { "mirror", arena_cstr(&c->mem, b->repo.common),
					    "--wait" },
				 .timeout_ms = WAIT_MS };

	return mirror_enabled(c, b) ? git_process_run(c, &h) : ERR_OK;
}

/* --- the files --- */

/* One writing of the files. */
struct mirror {
	struct call *c;
	struct beads *b;
	struct str dir, path; /* .beads, and its issues.jsonl */
	struct str now;       /* the text of issues.jsonl; absent: there is none */
	const struct mirror_others *others;
};

static struct str mirror_state_path(struct call *c, const struct beads *b)
{
	return path_join(&c->mem, b->home, STR("mirror.json"));
}

/* A member of mirror.json; absent: there is none. */
static struct str mirror_state(struct call *c, const struct beads *b, const char *key)
{
	struct call before = call_save(c);
	struct str text = { 0 };

	file_own_read(c, mirror_state_path(c, b), &text);
	call_restore(c, &before);
	return value_str(text.p ? value_read(&c->mem, text) : NULL, key);
}

struct str mirror_problem(struct call *c, const struct beads *b)
{
	return mirror_enabled(c, b) ? mirror_state(c, b, "problem") : STR_NONE;
}

struct str mirror_in_way(struct call *c, const struct beads *b)
{
	static const char *const names[] = { "issues.jsonl", "metadata.json" };
	struct arena *mem = &c->mem;
	struct str dir = path_join(mem, mirror_tree(b), STR(".beads"));

	if (path_is_link(mem, dir) || (file_exists(mem, dir) && !file_is_dir(mem, dir)))
		return dir;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct str path = path_join(mem, dir, str_of(names[i]));

		if (path_is_link(mem, path) || file_is_dir(mem, path))
			return path;
	}
	return STR_NONE;
}

static enum err mirror_put_state(struct call *c, const struct beads *b, struct str hash,
				 struct str problem)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_str(&j, "sha256", hash);
	json_put_str(&j, "problem", problem);
	json_end(&j);
	return file_own_replace(c, mirror_state_path(c, b), json_text(&j), 0600);
}

/* Keeps the failure of the background process for 'bd doctor'. */
static void mirror_note_problem(struct call *c, const struct beads *b)
{
	struct call failed = call_save(c);

	mirror_put_state(c, b, mirror_state(c, b, "sha256"), failed.message);
	call_restore(c, &failed);
}

static enum err mirror_import(struct mirror *m, struct str text, bool dry_run,
			      struct import_report *report)
{
	struct import_source source = { .file = STR("issues.jsonl"), .text = text };
	struct import_ask ask = { .sources = &source, .dry_run = dry_run };

	return import_run(m->c, &ask, report);
}

/* The lines of issues.jsonl that its next text lacks. */
static struct str mirror_lines_lost(struct mirror *m, struct str next)
{
	struct map there = { .mem = &m->c->mem };
	struct buf out = { .mem = &m->c->mem };
	struct str rest = next, line;

	while (rest.n && str_next(&rest, '\n', &line))
		map_put(&there, line);
	rest = m->now;
	while (rest.n && str_next(&rest, '\n', &line))
		if (!map_find(&there, line)) {
			buf_put(&out, line);
			buf_char(&out, '\n');
		}
	return buf_str(&out);
}

/*
 * Does issues.jsonl have the text that was written last? A program in a sandbox that may write to
 * the store could have turned on the mirror and noted the hash, so a text with a bead that the
 * store does not know, or with a line that cannot be read, counts as changed by others.
 */
static enum err mirror_is_ours(struct mirror *m, struct str next, bool *ours)
{
	struct import_report report;
	enum err e;

	*ours = str_eq(mirror_state(m->c, m->b, "sha256"), sha256_hex(&m->c->mem, m->now));
	if (!*ours)
		return ERR_OK;
	e = mirror_import(m, mirror_lines_lost(m, next), true, &report);
	*ours = !e && !report.created && !report.refused;
	return e;
}

/* Imports what others have changed in the file, so that writing it loses nothing. */
static enum err mirror_take_in(struct mirror *m)
{
	struct import_report report;
	enum err e = mirror_import(m, m->now, false, &report);

	if (!e)
		e = m->others->keep(m->c, &report);
	if (e || !report.refused)
		return e;
	call_fail(m->c, ERR_INVALID_INPUT, "%lld lines of '" STR_FMT "' cannot be read",
		  (long long)report.refused, STR_ARG(m->path));
	return call_step(m->c, "Run 'bd import --dry-run' to see them. The file is not written as "
			       "long as it has them.");
}

/* Other members of metadata.json stay. */
static enum err mirror_put_metadata(struct mirror *m)
{
	struct str path = path_join(&m->c->mem, m->dir, STR("metadata.json")), text;
	struct json j = json_new(&m->c->mem);
	enum err e = file_own_read(m->c, path, &text);
	const struct value *v = !e && text.p ? value_read(&m->c->mem, text) : NULL;

	if (e || str_is(value_str(v, "jsonl_export"), "issues.jsonl"))
		return e;
	json_object(&j);
	if (!value_find(v, "database"))
		json_put_str(&j, "database", STR("beads.db"));
	json_put_str(&j, "jsonl_export", STR("issues.jsonl"));
	for (size_t i = 0; v && v->type == VALUE_OBJECT && i < v->count; i++)
		if (!str_is(v->item[i].key, "jsonl_export")) {
			json_key(&j, v->item[i].key);
			json_value(&j, &v->item[i]);
		}
	json_end(&j);
	return file_replace_here(m->c, path,
				 arena_fmt(&m->c->mem, STR_FMT "\n", STR_ARG(json_text(&j))), 0644);
}

static enum err mirror_export(struct mirror *m, struct str *text)
{
	struct buf out = { .mem = &m->c->mem };
	struct export_counts counts;
	struct beads b;
	int64_t count;
	enum err e = beads_open(m->c, BEADS_READ, &b);

	if (e)
		return e;
	e = export_all(m->c, &b, EXPORT_BD, &out, &counts);
	beads_close(&b);
	if (!e)
		e = m->others->add(m->c, &out, &count);
	*text = buf_str(&out);
	return e;
}

/*
 * A repository may have a link in place of the folder: nothing is written through it. In a folder
 * of another user, that user decides what is read and replaced.
 */
static enum err mirror_prepare(struct mirror *m)
{
	struct stat st;
	enum err e;

	m->dir = path_join(&m->c->mem, mirror_tree(m->b), STR(".beads"));
	m->path = path_join(&m->c->mem, m->dir, STR("issues.jsonl"));
	if (path_is_link(&m->c->mem, m->dir))
		return call_fail(m->c, ERR_UNSAFE_PATH, "'" STR_FMT "' is a symbolic link",
				 STR_ARG(m->dir));
	if (!lstat(arena_cstr(&m->c->mem, m->dir), &st) &&
	    (e = owner_is_user(st.st_uid) ? exposed_check_folder(m->c, m->dir, &st) :
					    owner_refuse_inside(m->c, m->dir, st.st_uid)))
		return e;
	return file_own_read(m->c, m->path, &m->now);
}

/* Makes the new text of issues.jsonl, after importing what others wrote to the file. */
static enum err mirror_compose(struct mirror *m, struct str *text)
{
	bool ours;
	enum err e = mirror_export(m, text);

	if (e || !m->now.n || str_eq(*text, m->now) || (e = mirror_is_ours(m, *text, &ours)) ||
	    ours || (e = mirror_take_in(m)))
		return e;
	return mirror_export(m, text);
}

static enum err mirror_write(struct mirror *m)
{
	struct str text;
	enum err e = mirror_prepare(m);

	if (e || (e = mirror_compose(m, &text)) || (e = file_make_dir(m->c, m->dir, 0755)))
		return e;
	if ((!m->now.p || !str_eq(text, m->now)) &&
	    (e = file_replace_here(m->c, m->path, text, 0644)))
		return e;
	e = mirror_put_state(m->c, m->b, sha256_hex(&m->c->mem, text), STR_NONE);
	return e ? e : mirror_put_metadata(m);
}

/* --- the process --- */

static bool mirror_same_place(struct journal_place a, struct journal_place b)
{
	return a.segment == b.segment && a.offset == b.offset;
}

/* Waits until the journal has been quiet for a moment, or has been busy for too long. */
static enum err mirror_wait_for_quiet(struct call *c, const struct beads *b)
{
	int64_t first = moment_now();
	struct journal_place before, after;
	enum err e;

	do {
		if ((e = journal_last(c, b->home, &before)))
			return e;
		moment_sleep(QUIET_MS);
		if ((e = journal_last(c, b->home, &after)))
			return e;
	} while (!mirror_same_place(before, after) && moment_now() - first < HELD_MOST_MS);
	return ERR_OK;
}

/* Writes until the journal has not grown meanwhile. Each round frees its memory. */
static enum err mirror_follow(struct call *c, struct beads *b, const struct mirror_others *others,
			      struct journal_place *known)
{
	struct journal_place end;
	enum err e;

	do {
		struct call part = call_part(c);
		struct mirror m = { .c = &part, .b = b, .others = others };

		part.now_ms = c->still ? c->now_ms : moment_now();
		if (!(e = journal_last(&part, b->home, known)))
			e = mirror_write(&m);
		if ((e = call_part_end(c, &part, e)) || (e = journal_last(c, b->home, &end)))
			return e;
		if (mirror_same_place(end, *known))
			return ERR_OK;
	} while (!(e = mirror_wait_for_quiet(c, b)));
	return e;
}

enum err mirror_run(struct call *c, struct beads *b, int wait_ms,
		    const struct mirror_others *others)
{
	struct lock lock = LOCK_NONE;
	struct journal_place known, end;
	enum err e = ERR_OK;

	if (!c->actor.p)
		c->actor = STR("mirror");
	/* a writer after our last check still saw the lock, and started no process */
	while (!e && mirror_enabled(c, b) &&
	       !(e = lock_take(c, mirror_lock_path(c, b), wait_ms ? wait_ms : PROBE_MS, &lock))) {
		if (!wait_ms)
			e = mirror_wait_for_quiet(c, b);
		if (!e)
			e = mirror_follow(c, b, others, &known);
		if (e && e != ERR_DATABASE_BUSY)
			mirror_note_problem(c, b);
		lock_drop(&lock);
		if (e || (e = journal_last(c, b->home, &end)) || mirror_same_place(end, known))
			break;
	}
	return e == ERR_DATABASE_BUSY && !wait_ms ? call_forgive(c) : e;
}
