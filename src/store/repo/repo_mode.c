/*
 * Git creates files with the permissions that the umask and core.sharedRepository allow. A umask of
 * 000 is usually a mistake. So without core.sharedRepository only the owner may write to files
 * created here, and no setting makes them writable for everyone.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "store/repo/repo_parts.h"

enum { OTHERS_WRITE = 022, WORLD_WRITES = 002, ALL = 0777 };

/* Parses an octal number such as "0640"; false: not an octal number. */
static bool mode_parse(const char *text, mode_t *out)
{
	char *end;
	unsigned long mode = text[0] == '0' ? strtoul(text, &end, 8) : 0;

	*out = (mode_t)(mode & 0666);
	return text[0] == '0' && text[1] && !*end && mode <= 0777;
}

static bool mode_is_one_of(const char *text, const char *const words[])
{
	while (*words && strcmp(text, *words))
		words++;
	return *words;
}

/* Permission to read a folder implies permission to enter it. */
static mode_t mode_with_search(mode_t mode)
{
	return mode | ((mode & 0444) >> 2);
}

static mode_t mode_mask(const char *shared, mode_t mask)
{
	static const char *const group[] = { "group", "true", "yes", "on", "1", "", NULL };
	static const char *const all[] = { "all", "world", "everybody", "2", NULL };
	mode_t mode;

	if (mode_is_one_of(shared, group))
		return (mask & ~mode_with_search(0660)) | WORLD_WRITES;
	if (mode_is_one_of(shared, all))
		return (mask & ~mode_with_search(0664)) | WORLD_WRITES;
	if (mode_parse(shared, &mode))
		return (ALL & ~mode_with_search(mode)) | WORLD_WRITES;
	return mask | OTHERS_WRITE;
}

/* The umask that the process was started with. */
static mode_t mode_first_mask(void)
{
	static mode_t first;
	static bool known;

	if (!known)
		umask(first = umask(077));
	known = true;
	return first;
}

void repo_set_umask(struct repo *r)
{
	git_config *config = NULL;
	const char *shared = "umask";
	mode_t mask = mode_first_mask();

	if (!git_repository_config_snapshot(&config, r->git) &&
	    git_config_get_string(&shared, config, "core.sharedrepository"))
		shared = "umask";
	umask(mode_mask(shared, mask));
	git_config_free(config);
}
