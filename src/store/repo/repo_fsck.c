/*
 * The rules of `git fsck`. One object that breaks them makes `git fsck` fail from then on, and
 * servers that check objects refuse pushes of it.
 */
#include "store/repo/repo_fsck.h"

enum { OID_BYTES = 20, OID_DIGITS = 40 };

/* --- commits --- */

static bool repo_fsck_is_digit(char ch)
{
	return ch >= '0' && ch <= '9';
}

/* "tree <hash>\n" */
static bool repo_fsck_skip_object(struct str *text, struct str key)
{
	size_t n = key.n;

	if (!str_starts(*text, key))
		return false;
	while (n < text->n && n < key.n + OID_DIGITS &&
	       (repo_fsck_is_digit(text->p[n]) || (text->p[n] >= 'a' && text->p[n] <= 'f')))
		n++;
	if (n != key.n + OID_DIGITS || n >= text->n || text->p[n] != '\n')
		return false;
	*text = str_skip(*text, n + 1);
	return true;
}

/* "<seconds> +0000", to the end of the line. */
static bool repo_fsck_date(struct str date)
{
	size_t n = 0;

	while (n < date.n && repo_fsck_is_digit(date.p[n]))
		n++;
	if (!n || (date.p[0] == '0' && n > 1) || date.n != n + 6 || date.p[n] != ' ' ||
	    (date.p[n + 1] != '+' && date.p[n + 1] != '-'))
		return false;
	for (size_t i = n + 2; i < date.n; i++)
		if (!repo_fsck_is_digit(date.p[i]))
			return false;
	return true;
}

/* "name <email> seconds +0000" */
static bool repo_fsck_person(struct str line)
{
	const char *email = line.n ? memchr(line.p, '<', line.n) : NULL, *end;
	struct str name, rest;

	if (!email || email == line.p || email[-1] != ' ')
		return false;
	name = str_head(line, (size_t)(email - line.p));
	rest = str_skip(line, name.n + 1);
	end = rest.n ? memchr(rest.p, '>', rest.n) : NULL;
	if (!end || memchr(name.p, '>', name.n) || memchr(rest.p, '<', (size_t)(end - rest.p)))
		return false;
	rest = str_skip(rest, (size_t)(end - rest.p) + 1);
	return rest.n && rest.p[0] == ' ' && repo_fsck_date(str_skip(rest, 1));
}

static bool repo_fsck_skip_person(struct str *text, struct str key)
{
	struct str line;

	return str_starts(*text, key) && str_next(text, '\n', &line) &&
	       repo_fsck_person(str_skip(line, key.n));
}

const char *repo_fsck_commit(struct str bytes)
{
	struct str text = bytes;

	if (bytes.n && memchr(bytes.p, '\0', bytes.n))
		return "has a zero byte";
	if (!repo_fsck_skip_object(&text, STR("tree ")))
		return "does not begin with a tree";
	while (str_starts(text, STR("parent ")))
		if (!repo_fsck_skip_object(&text, STR("parent ")))
			return "has a malformed parent";
	if (!repo_fsck_skip_person(&text, STR("author ")))
		return "has a malformed author";
	if (str_starts(text, STR("author ")))
		return "has two authors";
	if (!repo_fsck_skip_person(&text, STR("committer ")))
		return "has a malformed committer";
	if (!str_has(bytes, STR("\n\n")) && !str_ends(bytes, STR("\n")))
		return "has a header without an end";
	return NULL;
}

/* --- trees --- */

struct repo_fsck_entry {
	struct str name;
	bool folder;
};

/* "<mode> <name>\0<hash>" */
static bool repo_fsck_next_entry(struct str *bytes, struct repo_fsck_entry *out)
{
	struct str mode, name;

	if (!str_next(bytes, ' ', &mode) || !bytes->p || !str_next(bytes, '\0', &name) ||
	    !bytes->p || bytes->n < OID_BYTES || !mode.n || !name.n)
		return false;
	*out = (struct repo_fsck_entry){ name, str_is(mode, "40000") || str_is(mode, "040000") };
	*bytes = str_skip(*bytes, OID_BYTES);
	return true;
}

int repo_tree_cmp(struct str a, bool a_folder, struct str b, bool b_folder)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int order = memcmp(a.p, b.p, n);
	unsigned char after_a = n < a.n  ? (unsigned char)a.p[n] :
				a_folder ? '/' :
					   0,
		      after_b = n < b.n  ? (unsigned char)b.p[n] :
				b_folder ? '/' :
					   0;

	return order ? order : after_a - after_b;
}

/*
 * Finds a file and a folder with the same name, which need not be adjacent: "a", "a.c", "a/". A
 * stack has the files whose names are prefixes of the current name; other files are popped.
 */
struct repo_fsck_files {
	struct str *name;
	size_t count, most;
};

static bool repo_fsck_has_file(struct arena *mem, struct repo_fsck_files *files,
			       const struct repo_fsck_entry *entry)
{
	while (files->count && !str_starts(entry->name, files->name[files->count - 1]))
		files->count--;
	if (entry->folder) /* only the longest name on the stack, the last, can be equal */
		return files->count && str_eq(files->name[files->count - 1], entry->name);
	files->name =
		arena_stack(mem, files->name, files->count, &files->most, sizeof *files->name);
	files->name[files->count++] = entry->name;
	return false;
}

const char *repo_fsck_tree(struct arena *mem, struct str bytes)
{
	struct repo_fsck_entry entry, before = { 0 };
	struct repo_fsck_files files = { 0 };

	while (bytes.n) {
		int order;

		if (!repo_fsck_next_entry(&bytes, &entry))
			return "is malformed";
		order = before.name.p ? repo_tree_cmp(before.name, before.folder, entry.name,
						      entry.folder) :
					-1;
		if (!order || (before.name.p && str_eq(before.name, entry.name)) ||
		    repo_fsck_has_file(mem, &files, &entry))
			return "has two entries of one name";
		if (order > 0)
			return "has entries out of order";
		before = entry;
	}
	return NULL;
}
