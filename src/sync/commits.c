#include "sync/commits.h"

#include "base/system/platform.h"
#include "beads/config.h"
#include "beads/model/state.h"
#include "beads/repair/foreign.h"
#include "store/home.h"
#include "store/repo/repo.h"

/* Memory that a sync may use beyond the files it reads, in bytes. */
static const int64_t BESIDE_FILES = INT64_C(512) << 20;

bool commits_is_store_file(struct str name)
{
	for (int i = 0; i < SNAPSHOT_FILES; i++)
		if (str_is(name, snapshot_name((enum snapshot_file)i)))
			return true;
	return str_is(name, FOREIGN_NOTES);
}

enum err commits_open(struct call *c, struct str gitdir, struct repo **out)
{
	static const char *known[SNAPSHOT_FILES + 1];
	struct str home = home_find(c, gitdir);
	int64_t most;
	enum err e = config_size(c, home, CONFIG_SYNC_MAX_FILE, &most);

	if (e || (e = repo_open(c, gitdir, out)))
		return e;
	repo_set_umask(*out);
	for (int i = 0; i < SNAPSHOT_FILES; i++)
		known[i] = snapshot_name((enum snapshot_file)i);
	known[SNAPSHOT_FILES] = FOREIGN_NOTES;
	repo_limit_files(*out, most, known, SNAPSHOT_FILES + 1);
	/* libgit2 decompresses into memory this program cannot count, so limit the process */
	platform_limit_memory(4 * most + BESIDE_FILES);
	return ERR_OK;
}

enum err commit_read_raw(struct call *c, struct repo *r, struct str commit, struct snapshot *out)
{
	struct commit about;
	enum err e = repo_commit(c, r, commit, &about);

	*out = (struct snapshot){ .commit = commit, .time_ms = about.time_ms };
	for (int i = 0; !e && i < SNAPSHOT_FILES; i++)
		e = repo_file(c, r, commit, snapshot_name((enum snapshot_file)i), &out->file[i],
			      &out->blob[i]);
	return e;
}

static enum err commits_render(struct call *c, struct repo *r, struct snapshot *files)
{
	struct state *all = state_new(&c->mem);
	struct snapshot ours;
	struct str notes, blob;
	enum err e = repo_file(c, r, files->commit, FOREIGN_NOTES, &notes, &blob);

	if (e || (e = foreign_read(c, files, notes, all)))
		return e;
	ours = snapshot_encode(&c->mem, all);
	ours.commit = files->commit;
	ours.time_ms = files->time_ms;
	ours.foreign = true;
	*files = ours;
	return ERR_OK;
}

enum err commit_read(struct call *c, struct repo *r, struct str commit, struct snapshot *out)
{
	enum err e = commit_read_raw(c, r, commit, out);

	if (e || !out->file[FILE_META].p || !foreign_files(&c->mem, out))
		return e;
	return commits_render(c, r, out);
}
