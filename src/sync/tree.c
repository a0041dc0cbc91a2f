#include "sync/tree.h"

#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "store/repo/repo.h"

enum { FILES_MOST = 20000, COMMITS_SHOWN = 60, COMMIT_FILES = 200, SUMMARY_WIDTH = 200 };

struct tree_commit {
	struct str json;
	struct tree_commit *next;
};

struct tree_reader {
	struct call *c;
	struct tree_commit *newest;
};

static enum err tree_take_commit(void *arg, const struct repo_change *change)
{
	struct tree_reader *t = arg;
	struct tree_commit *one = arena_new(&t->c->mem, struct tree_commit);
	struct json j = json_new(&t->c->mem);
	struct str rest = change->message, line = { 0 };

	while (!line.n && str_next(&rest, '\n', &line))
		;
	json_object(&j);
	json_put_str(&j, "commit", change->name);
	json_put_str(&j, "author", change->author);
	json_put_str(&j, "summary", utf8_head(line.p ? line : STR(""), SUMMARY_WIDTH));
	json_put_moment(&j, "at", change->time_ms);
	json_put_strs(&j, "files", change->files, change->file_count);
	json_end(&j);
	one->json = json_text(&j);
	one->next = t->newest;
	t->newest = one;
	return ERR_OK;
}

enum err tree_put(struct call *c, struct repo *r, struct json *reply)
{
	struct tree_reader t = { .c = c };
	struct repo_changes changes = { .most = COMMITS_SHOWN,
					.files_most = COMMIT_FILES,
					.visit = tree_take_commit,
					.arg = &t };
	struct str *file = NULL;
	size_t count = 0;
	bool more = false;
	enum err e;

	if ((e = repo_find_tips(c, r, &changes)) || (e = repo_each_change(c, r, &changes)))
		return e;
	if (changes.head.p)
		e = repo_list_files(c, r, changes.head, FILES_MOST, &file, &count, &more);
	if (e)
		return e;
	json_object(reply);
	json_put_strs(reply, "files", file, count);
	json_put_bool(reply, "more", more);
	json_put_array(reply, "commits");
	for (const struct tree_commit *one = t.newest; one; one = one->next)
		json_raw(reply, one->json);
	json_end(reply);
	json_end(reply);
	return ERR_OK;
}
