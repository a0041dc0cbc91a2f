#include "beads/git_process.h"

#include "base/number.h"
#include "base/system/platform.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/config.h"
#include "store/home.h"

struct str git_process_path(struct arena *mem)
{
	return spawn_beside(mem, STR("libexec/abacus-sync"));
}

/* Its failure becomes that of the call. */
static enum err git_process_failed(struct call *c, const struct value *error)
{
	enum err e = err_named(arena_cstr(&c->mem, value_str(error, "name")));
	struct str details = value_str(error, "details");

	call_fail(c, e, STR_FMT, STR_ARG(value_str(error, "message")));
	call_step(c, STR_FMT, STR_ARG(value_str(error, "step")));
	return details.p ? call_detail(c, details) : e;
}

/*
 * Did the user's own limit keep it from working? Below that limit not even its libraries may fit:
 * the loader ends it with 127, or a signal does.
 */
static bool git_process_starved(const struct git_process *h, const struct spawn *s)
{
	enum { LOADER_FAILED = 127, ENOUGH = 512 << 20 };
	bool unstarted = s->status == LOADER_FAILED || (s->status < 0 && !h->doing.n);

	return platform_memory_limit() < ENOUGH && (unstarted || s->status == ARENA_EXHAUSTED);
}

static enum err git_process_no_memory(struct call *c, const struct git_process *h)
{
	struct str home = home_find(c, str_of(h->words[1]));
	int64_t most = 0;

	config_size(c, home, CONFIG_SYNC_MAX_FILE, &most);
	call_forgive(c);
	call_fail(c, ERR_SYNC_FAILED, "the git process needs more memory than its limit");
	return call_step(c,
			 "Nothing was lost. The limit is 512 MB plus four times sync.max_file; "
			 "raise it with 'bd config set sync.max_file " STR_FMT "'.",
			 STR_ARG(number_size(&c->mem, most + 1)));
}

static enum err git_process_broken(struct call *c, const struct git_process *h,
				   const struct spawn *s)
{
	if (!s->timed_out && git_process_starved(h, s))
		arena_exhausted();
	if (s->timed_out)
		return call_fail(c, ERR_SYNC_TIMEOUT, "it took longer than %lld s, while " STR_FMT,
				 (long long)(h->timeout_ms + 999) / 1000,
				 STR_ARG(h->doing.n ? h->doing : STR("starting")));
	if (s->status == ARENA_EXHAUSTED)
		return git_process_no_memory(c, h);
	if (s->status < 0) {
		call_fail(c, ERR_SYNC_FAILED, "the git process died while " STR_FMT,
			  STR_ARG(h->doing.n ? h->doing : STR("starting")));
		return call_step(c, "Nothing was lost. If it happens again, the repository may be "
				    "damaged: run 'git fsck' here, and in the remote if it is a "
				    "folder.");
	}
	call_fail(c, ERR_SYNC_FAILED, "'%s' ended without an answer (status %d)", s->argv[0],
		  s->status);
	return call_step(c, "The installation may be incomplete. Build and install Abacus again.");
}

struct listening {
	struct call *c;
	struct git_process *h;
};

static void git_process_read_progress(void *arg, struct str line)
{
	struct listening *l = arg;

	if (line.p)
		l->h->doing = arena_copy(&l->c->mem, line);
	if (l->c->progress && l->h->doing.p)
		l->c->progress(l->c, l->h->doing);
}

enum err git_process_run(struct call *c, struct git_process *h)
{
	const char *argv[HELPER_WORDS + 2] = { arena_cstr(&c->mem, git_process_path(&c->mem)) };
	struct listening listening = { c, h };
	struct spawn s = { .argv = argv,
			   .timeout_ms = h->timeout_ms,
			   .input = h->input,
			   .heard = git_process_read_progress,
			   .arg = &listening };
	struct value_error error;
	const struct value *v, *reply;
	struct json j = json_new(&c->mem);
	struct str line;
	enum err e;

	for (size_t i = 0; i < HELPER_WORDS && h->words[i]; i++)
		argv[i + 1] = h->words[i];
	if ((e = spawn_run(c, &s)))
		return e;
	h->rest = s.out;
	v = str_next(&h->rest, '\n', &line) ? value_parse(&c->mem, line, &error) : NULL;
	if (value_find(v, "error"))
		return git_process_failed(c, value_find(v, "error"));
	if (s.timed_out || s.status || !(reply = value_find(v, "reply")))
		return git_process_broken(c, h, &s);
	json_value(&j, reply);
	h->reply = json_text(&j);
	if (value_str(v, "warning").p)
		call_warn(c, STR_FMT, STR_ARG(value_str(v, "warning")));
	return ERR_OK;
}

static enum err git_process_read_files(struct call *c, struct git_process *h, struct snapshot *out)
{
	const struct value *reply, *sizes;
	enum err e = git_process_run(c, h);

	*out = (struct snapshot){ 0 };
	if (e)
		return e;
	reply = value_read(&c->mem, h->reply);
	sizes = value_find(reply, "sizes");
	out->commit = value_str(reply, "commit");
	value_int(reply, "time", &out->time_ms);
	for (int i = 0; i < SNAPSHOT_FILES; i++) {
		int64_t n = -1;

		if (!value_int(sizes, snapshot_name((enum snapshot_file)i), &n))
			continue;
		if (n < 0 || (size_t)n > h->rest.n)
			return call_fail(c, ERR_SYNC_FAILED, "a file is incomplete");
		out->file[i] = str_head(h->rest, (size_t)n);
		h->rest = str_skip(h->rest, (size_t)n);
	}
	return ERR_OK;
}

enum err git_process_read(struct call *c, struct str gitdir, struct str commit,
			  struct snapshot *out)
{
	struct git_process h = { .words = { "read", arena_cstr(&c->mem, gitdir), "--commit",
					    arena_cstr(&c->mem, commit) } };

	return git_process_read_files(c, &h, out);
}

enum err git_process_read_latest(struct call *c, struct str gitdir, struct str commit,
				 struct str ref, struct snapshot *out)
{
	struct git_process h = { .words = { "read", arena_cstr(&c->mem, gitdir), "--latest",
					    arena_cstr(&c->mem, ref), commit.p ? "--commit" : NULL,
					    arena_cstr(&c->mem, commit) } };

	return git_process_read_files(c, &h, out);
}

enum err git_process_read_at(struct call *c, struct str gitdir, struct str ref, int64_t ms,
			     struct str spec, bool raw, struct snapshot *out)
{
	struct git_process h = { .words = { "read", arena_cstr(&c->mem, gitdir), "--ref",
					    arena_cstr(&c->mem, ref), "--at-ms",
					    arena_fmt(&c->mem, "%lld", (long long)ms).p, "--spec",
					    arena_cstr(&c->mem, spec), raw ? "--raw" : NULL } };

	return git_process_read_files(c, &h, out);
}
