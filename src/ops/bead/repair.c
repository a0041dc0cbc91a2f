/*
 * bd repair: repairs a damaged journal and damaged commits, or with --stamps the stamps that are in
 * the future. Without --apply it only reports them.
 */
#include "beads/repair/repair.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/autosync.h"
#include "beads/git_process.h"
#include "beads/repair/restamp.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	bool apply, stamps;
	int64_t timeout;
};

static const struct field fields[] = {
	{ "apply", &kind_bool, offsetof(struct body, apply),
	  .help = "repair the damage; damaged files and commits are kept" },
	{ "stamps", &kind_bool, offsetof(struct body, stamps),
	  .help = "list beads whose stamps, or whose dependencies' stamps, lie in the future; "
		  "with --apply, copy each to a new bead and delete the old one" },
	{ "timeout", &kind_duration, offsetof(struct body, timeout), .min = 1000, .max = 3600000,
	  .preset = "30s", .help = "maximum time to wait" },
	{ 0 },
};

static const struct prop line_props[] = { { "file line:int action why text", NULL }, { 0 } };

static const struct prop commit_props[] = {
	{ "commit where why?", NULL },
	{ "lines[]", line_props },
	{ 0 },
};

static const struct prop stamp_props[] = { { "id title at copy|null", NULL }, { 0 } };

static const struct prop record_props[] = {
	{ "file|null offset:int action why text", NULL },
	{ 0 },
};

static const struct prop journal_props[] = {
	{ "applied:bool salvaged:int lost:int kept_as|null", NULL },
	{ "records[]", record_props },
	{ 0 },
};

static const struct prop props[] = {
	{ "commits[]", commit_props },
	{ "damaged:int set_aside:int applied:bool refetched:bool? commit|null", NULL },
	{ "stamps[]?", stamp_props },
	{ "journal?", journal_props },
	{ 0 },
};

static void put_stamps(struct json *reply, const struct restamped *one, bool applied)
{
	json_object(reply);
	json_put_array(reply, "commits");
	json_end(reply);
	json_put_int(reply, "damaged", 0);
	json_put_int(reply, "set_aside", 0);
	json_put_bool(reply, "applied", applied);
	json_put_str(reply, "commit", STR_NONE);
	json_put_array(reply, "stamps");
	for (; one; one = one->next) {
		json_object(reply);
		json_put_str(reply, "id", one->id);
		json_put_str(reply, "title", one->title);
		json_put_moment(reply, "at", one->at_ms);
		json_put_str(reply, "copy", one->copy);
		json_end(reply);
	}
	json_end(reply);
	json_end(reply);
}

static enum err repair_stamps(struct call *c, bool apply, struct json *reply)
{
	struct restamped *found;
	struct beads b;
	enum err e = beads_open(c, apply ? BEADS_WRITE : BEADS_READ, &b);

	if (e)
		return e;
	if (!(e = restamp_all(c, &b, apply, &found))) {
		put_stamps(reply, found, apply && found);
		e = apply ? beads_commit(c, &b) : ERR_OK;
	}
	beads_close(&b);
	if (!e && apply)
		autosync_start(c, &b);
	return e;
}

/* `abacus-sync` checks the published commits. */
static enum err repair_commits(struct call *c, const struct body *in, struct str *reply)
{
	struct git_process h = { .timeout_ms = in->timeout };
	struct beads b;
	enum err e = beads_open(c, BEADS_READ, &b);

	/* the ref itself may have to be repaired */
	if (e && e != ERR_DAMAGED && e != ERR_REMOTE_DAMAGED)
		return e;
	call_forgive(c);
	if (!e)
		beads_close(&b);
	h.words[0] = "repair";
	h.words[1] = arena_cstr(&c->mem, b.repo.common);
	h.words[2] = in->apply ? "--apply" : NULL;
	e = git_process_run(c, &h);
	*reply = h.reply;
	return e;
}

static void put_journal(struct json *reply, const struct journal_repair *journal)
{
	json_put_object(reply, "journal");
	json_put_bool(reply, "applied", journal->applied);
	json_put_int(reply, "salvaged", journal->salvaged);
	json_put_int(reply, "lost", journal->lost);
	json_put_str(reply, "kept_as",
		     journal->suffix.p ? arena_fmt(reply->out.mem, "journal.*." STR_FMT,
						   STR_ARG(journal->suffix)) :
					 journal->suffix);
	json_put_raw(reply, "records", journal->report);
	json_end(reply);
}

/* `commits` is the reply about the commits; absent: they could not be checked. */
static void put_both(struct call *c, struct json *reply, struct str commits,
		     const struct journal_repair *journal)
{
	const struct value *v = commits.p ? value_read(&c->mem, commits) : NULL,
			   *list = value_find(v, "commits"), *applied = value_find(v, "applied");

	json_object(reply);
	json_key(reply, STR("commits"));
	if (list) {
		json_value(reply, list);
	} else {
		json_array(reply);
		json_end(reply);
	}
	json_put_int(reply, "damaged", value_count(v, "damaged"));
	json_put_int(reply, "set_aside", value_count(v, "set_aside"));
	json_put_bool(reply, "applied", journal->applied || (applied && applied->yes));
	json_put_str(reply, "commit", value_str(v, "commit"));
	put_journal(reply, journal);
	json_end(reply);
}

/* The journal could not be checked, because the published commit that it continues is damaged. */
static enum err repair_base(struct call *c, const struct body *in, struct str *commits)
{
	call_forgive(c);
	return repair_commits(c, in, commits);
}

/* The journal is repaired first, because nothing can be published from a damaged one. Its repair
 * is reported even if the rest fails. */
static enum err bead_repair_run(struct call *c, struct stores *s, const void *body,
				struct json *reply)
{
	const struct body *in = body;
	struct journal_repair journal;
	struct str commits = { 0 };
	enum err e;

	(void)s;
	if (in->stamps)
		return repair_stamps(c, in->apply, reply);
	e = repair_journal(c, in->apply, in->timeout, &journal);
	if (e == ERR_DAMAGED && !(e = repair_base(c, in, &commits)) && in->apply)
		e = repair_journal(c, in->apply, in->timeout, &journal);
	if (e)
		return e;
	if (!commits.p && (!journal.damaged || journal.applied))
		e = repair_commits(c, in, &commits);
	if (!journal.damaged) {
		if (!e)
			json_raw(reply, commits);
		return e;
	}
	if (e)
		call_warn(c, "the published commits were not checked: " STR_FMT,
			  STR_ARG(c->message));
	call_forgive(c);
	put_both(c, reply, commits, &journal);
	return ERR_OK;
}

/* One sentence about a repair, for 'bd doctor --fix'. */
static struct str repair_summary(struct call *c, const struct value *report)
{
	const struct value *journal = value_find(report, "journal");
	int64_t saved = 0, lost = 0, commits = 0;

	value_int(journal, "salvaged", &saved);
	value_int(journal, "lost", &lost);
	value_int(report, "damaged", &commits);
	if (journal)
		return arena_fmt(&c->mem,
				 "the journal was damaged: %lld record%s saved, %lld lost; the "
				 "damaged files are kept as " STR_FMT,
				 (long long)saved, saved == 1 ? "" : "s", (long long)lost,
				 STR_ARG(value_str(journal, "kept_as")));
	if (commits)
		return arena_fmt(&c->mem,
				 "%lld published commit%s damaged; the readable part is kept under "
				 "refs/beads/backup/",
				 (long long)commits, commits == 1 ? " was" : "s were");
	return STR_NONE;
}

enum err bead_repair_damage(struct call *c, struct str *done)
{
	const struct body in = { .apply = true, .timeout = 30 * 1000 };
	struct json report = json_new(&c->mem);
	enum err e = bead_repair_run(c, NULL, &in, &report);

	*done = e ? STR_NONE : repair_summary(c, value_read(&c->mem, json_text(&report)));
	return e;
}

const struct op op_bead_repair = {
	.name = "bead repair",
	.help = "Find damage, and with --apply repair it",
	.more = "Without --apply, the command only shows what it would do. With --apply, every "
		"record of a damaged journal whose checksum is right is copied to a new file, "
		"and the damaged files are kept under another name. A damaged commit is kept as "
		"a backup ref; a new commit on top of it contains everything that is readable, "
		"merged with the local beads. Nothing is deleted. Every record and every line "
		"that could not be kept unchanged is listed. If Git cannot read the history, the "
		"new commit continues from the last readable one, and the remote's ref is set to "
		"it. A ref that points at something other than a store is set to the last usable "
		"commit. A bead that is too large to be merged with the local one becomes two "
		"beads.\nOf two changes, the one with the later time stamp wins. So a change with a "
		"stamp more than a day in the future would win over all later changes. --stamps "
		"repairs such beads.",
	.flags = OP_WRITE | OP_ACTOR,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "repair", props },
	.run = bead_repair_run,
};
