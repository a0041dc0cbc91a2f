#include "sync/learn.h"

#include "base/text/json.h"
#include "base/text/utf8.h"
#include "beads/beads.h"
#include "beads/model/bead.h"
#include "store/commit_db.h"
#include "store/repo/repo.h"

enum { COMMITS_MOST = 20000, NAMES_MOST = 50, WORDS_MOST = 200, BYTES_MOST = 1000 };

struct learner {
	struct call *c;
	struct commit_writer *writer;
	struct str prefix; /* of the ids of this store */
	int64_t count;
};

/* --- the beads that a message names --- */

struct learn_names {
	struct str bead[NAMES_MOST];
	size_t count;
};

static void learn_add(struct learn_names *names, struct str id)
{
	while (id.n && (id.p[id.n - 1] == '.' || id.p[id.n - 1] == '-'))
		id.n--;
	if (!bead_id_valid(id) || names->count == NAMES_MOST)
		return;
	for (size_t i = 0; i < names->count; i++)
		if (str_eq(names->bead[i], id))
			return;
	names->bead[names->count++] = id;
}

/* "Bead: bd-1, bd-2" */
static void learn_trailer(struct learn_names *names, struct str line)
{
	static const struct str key = { "Bead:", 5 };
	struct str part;

	if (!str_starts(line, key))
		return;
	line = str_skip(line, key.n);
	while (str_next(&line, ',', &part))
		learn_add(names, str_trim(part));
}

static bool learn_is_id(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
	       ch == '-' || ch == '_' || ch == '.';
}

/* Every word that begins with the prefix and a dash. */
static void learn_words(struct learn_names *names, struct str prefix, struct str text)
{
	size_t start = 0;

	for (size_t i = 0; i <= text.n; i++) {
		struct str word = str_part(text, start, i);

		if (i < text.n && learn_is_id(text.p[i]))
			continue;
		if (word.n > prefix.n + 1 && str_starts(word, prefix) && word.p[prefix.n] == '-')
			learn_add(names, word);
		start = i + 1;
	}
}

/* An author or a subject, which can be as long as the commit: at most WORDS_MOST columns of it. */
static struct str learn_head(struct str text)
{
	return utf8_head(str_head(text, BYTES_MOST), WORDS_MOST);
}

static enum err learn_commit(void *arg, const struct repo_change *change)
{
	struct learner *l = arg;
	struct learn_names names = { .count = 0 };
	struct commit_row row = { .name = change->name,
				  .author = learn_head(change->author),
				  .time_ms = change->time_ms,
				  .files = change->files,
				  .file_count = change->file_count };
	struct str rest = change->message, line;

	while (str_next(&rest, '\n', &line)) {
		if (!row.summary.p && line.n)
			row.summary = learn_head(line);
		learn_trailer(&names, line);
	}
	learn_words(&names, l->prefix, change->message);
	row.beads = names.bead;
	row.bead_count = names.count;
	l->count++;
	return commit_writer_put(l->writer, &row);
}

/* --- the history --- */

static bool learn_rewritten(struct repo *r, const struct repo_changes *changes, struct str head)
{
	if (!head.p)
		return false;
	for (size_t i = 0; i < changes->tip_count; i++)
		if (repo_reaches(r, changes->tips[i], head))
			return false;
	return true;
}

static enum err learn_into(struct call *c, const struct beads *b, struct repo *r,
			   struct commit_db *d, struct str also, int64_t *count)
{
	struct learner l = { .c = c, .prefix = b->about.prefix };
	struct repo_changes changes = { .also = also,
					.most = COMMITS_MOST,
					.files_most = COMMIT_FILES_MOST,
					.visit = learn_commit,
					.arg = &l };
	struct str *known, head;
	size_t known_count;
	enum err e;

	if ((e = commit_db_tips(c, d, &known, &known_count, &head)) ||
	    (e = repo_find_tips(c, r, &changes)))
		return e;
	changes.known = known;
	changes.known_count = known_count;
	if (learn_rewritten(r, &changes, head)) {
		if ((e = commit_db_clear(c, d)))
			return e;
		changes.known_count = 0;
	}
	l.writer = commit_writer_new(c, d);
	if ((e = repo_each_change(c, r, &changes)) ||
	    (e = commit_db_set_tips(c, d, changes.tips, changes.tip_count, changes.head)))
		return e;
	*count = l.count;
	return commit_writer_end(l.writer);
}

enum err learn_history(struct call *c, const struct beads *b, struct repo *r, struct str also,
		       struct json *reply)
{
	struct commit_db d;
	int64_t count = 0;
	enum err e = commit_db_open(c, b->home, true, &d);

	if (e)
		return e;
	e = learn_into(c, b, r, &d, also, &count);
	commit_db_close(&d);
	json_object(reply);
	json_put_int(reply, "commits", count);
	json_end(reply);
	return e;
}
