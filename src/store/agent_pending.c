#include "store/agent_pending.h"

#include "base/hash.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/value.h"

static const struct str file = { "pending.jsonl", 13 };

/* --- text --- */

enum { SUM_DIGITS = 8 };

static struct str agent_pending_sum(struct arena *mem, struct str text)
{
	return arena_fmt(mem, "%0*x", SUM_DIGITS, (unsigned)crc32c(0, text));
}

static struct str agent_pending_encode(struct call *c, const struct agent_append *all, size_t count)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_array(&j, "appends");
	for (size_t i = 0; i < count; i++) {
		json_object(&j);
		json_put_str(&j, "file", all[i].name);
		json_put_int(&j, "at", all[i].at);
		json_put_str(&j, "lines", all[i].lines);
		json_end(&j);
	}
	json_end(&j);
	json_put_str(&j, "sum", agent_pending_sum(&c->mem, (struct str){ j.out.p, j.out.n }));
	json_end(&j);
	buf_char(&j.out, '\n');
	return buf_str(&j.out);
}

/*
 * Is the checksum at the end of the line wrong? Until the line is durable, a power failure may
 * leave some of its sectors with the text of an earlier line, because that line was cut off without
 * a sync. Lines of earlier versions have no checksum.
 */
static bool agent_pending_is_torn(struct arena *mem, struct str line)
{
	struct str key = STR(",\"sum\":\""), end = STR("\"}");
	size_t tail = key.n + SUM_DIGITS + end.n, at = line.n - tail;
	struct str sum;

	if (line.n < tail || !str_starts(str_skip(line, at), key) || !str_ends(line, end))
		return false;
	sum = str_head(str_skip(line, at + key.n), SUM_DIGITS);
	return !str_eq(sum, agent_pending_sum(mem, str_head(line, at)));
}

/*
 * The folder may come from a cloned repository or an archive: only a record inside it may be
 * written to.
 */
static bool is_record(struct str name)
{
	bool start = true;

	for (size_t i = 0; i < name.n; i++) {
		char ch = name.p[i];
		bool word = (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9');

		if (!word && (start || (ch != '-' && ch != '.' && ch != '/')))
			return false;
		start = ch == '/';
	}
	return str_ends(name, STR(".jsonl")) && !str_eq(name, file);
}

static bool decode_one(const struct value *v, struct agent_append *out)
{
	out->name = value_str(v, "file");
	out->lines = value_str(v, "lines");
	return is_record(out->name) && str_ends(out->lines, STR("\n")) &&
	       value_int(v, "at", &out->at) && out->at >= 0 &&
	       out->at <= INT64_MAX - (int64_t)out->lines.n;
}

static bool agent_pending_decode(struct call *c, struct str line, struct agent_append **all,
				 size_t *count)
{
	const struct value *v = agent_snapshot_parse(&c->mem, line),
			   *list = value_find(v, "appends");

	*count = 0;
	if (!list || list->type != VALUE_ARRAY)
		return false;
	*all = arena_alloc(&c->mem, (list->count + 1) * sizeof **all);
	for (; *count < list->count; ++*count)
		if (!decode_one(&list->item[*count], &(*all)[*count]))
			return false;
	return true;
}

/* --- reading --- */

static enum err agent_pending_damaged(struct call *c, const struct agent_files *f)
{
	call_fail(c, ERR_IO_READ_FAILED, "'" STR_FMT "/" STR_FMT "' is damaged", STR_ARG(f->home),
		  STR_ARG(file));
	return call_remedy(c, "Run 'abacus doctor --fix', which keeps the file aside (it has "
			      "messages that were being sent to several agents)");
}

/*
 * The text up to its last line end: a line without an end was never finished, and does not count.
 */
static struct str finished_part(struct str text)
{
	while (text.n && text.p[text.n - 1] != '\n')
		text.n--;
	return text;
}

/*
 * Usually nothing is pending: the file is empty or missing. `torn`: a power failure has lost a part
 * of the line before it was durable, so it does not count.
 */
static enum err read_pending(struct call *c, struct agent_files *f, int64_t largest, bool *torn)
{
	struct str text, line, path = path_join(&c->mem, f->home, file);
	int64_t size;
	enum err e;

	*torn = false;
	f->pending_count = 0;
	if ((e = agent_file_size(c, f, file, &size)) || !size)
		return e;
	if (size > largest) /* the error says so */
		return agent_file_read(c, f, file, &text);
	if (file_read_within(c, path, largest, 0, 0, &text))
		return c->code = ERR_IO_READ_FAILED;
	text = finished_part(text); /* agent_file_read() would drop a line with a hole */
	line = str_head(text, text.n ? text.n - 1 : 0);
	*torn = !text.n || agent_pending_is_torn(&c->mem, line);
	if (*torn || agent_pending_decode(c, line, &f->pending, &f->pending_count))
		return ERR_OK;
	f->pending_count = 0;
	*torn = file_has_hole(text, 0);
	return *torn ? ERR_OK : agent_pending_damaged(c, f);
}

enum err agent_pending_check(struct call *c, struct agent_files *f)
{
	bool torn;

	return read_pending(c, f, FILE_PART_MOST, &torn);
}

enum err agent_pending_load(struct call *c, struct agent_files *f)
{
	bool torn;

	if (read_pending(c, f, AGENT_RECORD_MOST, &torn))
		call_warn(c, STR_FMT, STR_ARG(c->message));
	return call_forgive(c);
}

const struct agent_append *agent_pending_find(const struct agent_files *f, struct str name,
					      int64_t size)
{
	for (size_t i = 0; i < f->pending_count; i++) {
		const struct agent_append *a = &f->pending[i];

		if (str_eq(a->name, name))
			return size >= a->at && size <= a->at + (int64_t)a->lines.n ? a : NULL;
	}
	return NULL;
}

/* --- writing --- */

/*
 * The record's content on disk from the offset of the pending lines; `whole`: from its beginning,
 * because the record has become shorter.
 */
static enum err read_from(struct call *c, struct str path, const struct agent_append *a,
			  bool *whole, struct str *out)
{
	struct file_found found;
	enum err e = file_look(c, path, &found);

	*whole = found.size < a->at;
	return e ? e : file_read_within(c, path, AGENT_RECORD_MOST, *whole ? 0 : a->at, 0, out);
}

/* The lines, or a part of them, may already be in the record. */
static enum err complete_one(struct call *c, struct agent_files *f, const struct agent_append *a)
{
	struct str path = path_join(&c->mem, f->home, a->name), there;
	bool whole;
	enum err e = read_from(c, path, a, &whole, &there);

	if (e || str_has(there, a->lines))
		return e;
	if (!whole && there.n && (str_starts(a->lines, there) || file_has_hole(there, a->at)) &&
	    (e = file_cut(c, path, a->at)))
		return e;
	return agent_file_append(c, f, a->name, a->lines);
}

static enum err agent_pending_write_all(struct call *c, struct agent_files *f)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < f->pending_count; i++)
		e = complete_one(c, f, &f->pending[i]);
	if (!e)
		e = file_cut(c, path_join(&c->mem, f->home, file), 0);
	if (!e)
		f->pending_count = 0;
	return e;
}

enum err agent_pending_complete(struct call *c, struct agent_files *f)
{
	bool torn;
	enum err e = read_pending(c, f, AGENT_RECORD_MOST, &torn);

	return e || !(torn || f->pending_count) ? e : agent_pending_write_all(c, f);
}

enum err agent_pending_repair(struct call *c, struct agent_files *f)
{
	enum err e = agent_pending_check(c, f);

	return e || !f->pending_count ? e : agent_pending_write_all(c, f);
}

/* Checked before anything is written: the process that completes the line has to read it. */
static enum err agent_pending_fits(struct call *c, int64_t bytes, size_t count)
{
	if (bytes <= AGENT_TOGETHER_MOST)
		return ERR_OK;
	call_fail(
		c, ERR_INVALID_INPUT,
		"this command would store %lld bytes in %zu files at once; at most %d are allowed",
		(long long)bytes, count, AGENT_TOGETHER_MOST);
	return call_step(c, "Send a shorter body, or send it to fewer agents at a time.");
}

enum err agent_files_append_all(struct call *c, struct agent_files *f, struct agent_append *all,
				size_t count)
{
	struct agent_append *again;
	struct str line;
	int64_t bytes = 0;
	size_t n;
	enum err e;

	if (count == 1)
		return agent_file_append(c, f, all->name, all->lines);
	for (size_t i = 0; i < count; i++)
		bytes += (int64_t)all[i].lines.n;
	if ((e = agent_pending_fits(c, bytes, count)))
		return e;
	for (size_t i = 0; i < count; i++) {
		if ((e = agent_file_finish(c, f, all[i].name)) ||
		    (e = agent_file_size(c, f, all[i].name, &all[i].at)))
			return e;
	}
	line = agent_pending_encode(c, all, count);
	if ((e = agent_pending_fits(c, (int64_t)line.n, count))) /* escapes make it longer */
		return e;
	if (!agent_pending_decode(c, str_head(line, line.n - 1), &again, &n))
		return call_fail(c, ERR_INVALID_INPUT,
				 "this cannot be stored: it could not be read back");
	if ((e = agent_file_append(c, f, file, line)))
		return e;
	f->pending = again;
	f->pending_count = n;
	return agent_file_later(c, agent_pending_write_all(c, f)); /* the next command retries */
}
