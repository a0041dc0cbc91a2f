#include "hosts/backup.h"

#include <dirent.h>

#include "base/id.h"
#include "base/system/file.h"
#include "base/system/path.h"

enum err backup_put(struct call *c, struct str path, struct str content, struct str *copy)
{
	*copy = arena_fmt(&c->mem, STR_FMT ".%s", STR_ARG(path),
			  id_mint(&c->mem, "bak", c->now_ms).p);
	return file_own_replace(c, *copy, content, 0600);
}

/* Only files with exactly our form of name are backups. */
static bool is_ours(struct str name, struct str head)
{
	return str_starts(name, head) && id_is_minted(str_skip(name, head.n), "bak");
}

enum err backup_find(struct call *c, struct str path, struct str *copy, struct str *content)
{
	struct str dir = path_parent(path), latest = { 0 };
	struct str head = arena_fmt(&c->mem, STR_FMT ".", STR_ARG(path_name(path)));
	DIR *open = opendir(arena_cstr(&c->mem, dir));
	struct dirent *entry;

	while (open && (entry = readdir(open))) {
		struct str name = str_of(entry->d_name);

		if (is_ours(name, head) && (!latest.p || str_cmp(name, latest) > 0))
			latest = arena_copy(&c->mem, name);
	}
	if (open)
		closedir(open);
	*copy = *content = STR_NONE;
	if (!latest.p)
		return ERR_OK;
	*copy = path_join(&c->mem, dir, latest);
	if (file_size(&c->mem, *copy) >
	    FILE_SETTINGS_MOST) /* the installer edits no file of that size */
		return ERR_OK;
	return file_own_read(c, *copy, content);
}
