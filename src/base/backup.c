#include "base/backup.h"

#include <dirent.h>

#include "base/file.h"
#include "base/id.h"
#include "base/path.h"

enum err backup_put(struct call *c, struct str path, struct str content, struct str *copy)
{
	*copy = arena_fmt(&c->mem, STR_FMT ".%s", STR_ARG(path),
			  id_mint(&c->mem, "bak", c->now_ms).p);
	return file_own_replace(c, *copy, content, 0600);
}

/* Exactly as we name them: what else is there belongs to somebody. */
static bool is_ours(struct str name, struct str head)
{
	static const char form[] = "00000000_000000_xxxxxxxxxxxxxxxx";

	if (!str_starts(name, head) || name.n != head.n + sizeof form - 1)
		return false;
	for (size_t i = 0; form[i]; i++) {
		char ch = name.p[head.n + i];
		bool digit = ch >= '0' && ch <= '9',
		     hex = digit || (ch >= 'a' && ch <= 'f');

		if (form[i] == '_' ? ch != '_' : form[i] == '0' ? !digit : !hex)
			return false;
	}
	return true;
}

enum err backup_find(struct call *c, struct str path, struct str *copy,
		     struct str *content)
{
	struct str dir = path_parent(path), latest = { 0 };
	struct str head = arena_fmt(&c->mem, STR_FMT ".bak_", STR_ARG(path_name(path)));
	DIR *open = opendir(arena_cstr(&c->mem, dir));
	struct dirent *entry;

	while (open && (entry = readdir(open))) {
		struct str name = str_of(entry->d_name);

		if (is_ours(name, head) && (!latest.p || str_cmp(name, latest) > 0))
			latest = arena_copy(&c->mem, name);
	}
	if (open)
		closedir(open);
	*copy = *content = (struct str){ 0 };
	if (!latest.p)
		return ERR_OK;
	*copy = path_join(&c->mem, dir, latest);
	return file_own_read(c, *copy, content);
}
