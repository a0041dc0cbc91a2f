/*
 * The commits that a fetch reports to the remote as present ("haves"). By default libgit2 walks
 * back from every ref of the repository, so one commit that it cannot parse, in any branch, would
 * stop the fetch. During our fetches it uses a refdb backend that shows only the given commits.
 */
#include <git2.h>
#include <git2/sys/refdb_backend.h>
#include <git2/sys/refs.h>
#include <git2/sys/repository.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/repo/repo_parts.h"

struct haves {
	git_refdb_backend parent;
	size_t count;
	git_oid oid[];
};

struct haves_list {
	git_reference_iterator parent;
	const struct haves *of;
	size_t at;
	char name[32];
};

static void put_name(char name[32], size_t i)
{
	snprintf(name, 32, "refs/haves/%zu", i);
}

static int haves_lookup(git_reference **out, git_refdb_backend *backend, const char *name)
{
	const struct haves *h = (const struct haves *)backend;
	char known[32];

	for (size_t i = 0; i < h->count; i++) {
		put_name(known, i);
		if (!strcmp(known, name)) {
			*out = git_reference__alloc(name, &h->oid[i], NULL);
			return *out ? 0 : -1;
		}
	}
	return GIT_ENOTFOUND;
}

static int haves_exists(int *exists, git_refdb_backend *backend, const char *name)
{
	git_reference *found = NULL;
	int code = haves_lookup(&found, backend, name);

	git_reference_free(found);
	*exists = !code;
	return code == GIT_ENOTFOUND ? 0 : code;
}

static int list_next_name(const char **name, git_reference_iterator *iterator)
{
	struct haves_list *l = (struct haves_list *)iterator;

	if (l->at == l->of->count)
		return GIT_ITEROVER;
	put_name(l->name, l->at++);
	*name = l->name;
	return 0;
}

static int list_next(git_reference **out, git_reference_iterator *iterator)
{
	struct haves_list *l = (struct haves_list *)iterator;
	const char *name;
	int code = list_next_name(&name, iterator);

	if (code)
		return code;
	*out = git_reference__alloc(name, &l->of->oid[l->at - 1], NULL);
	return *out ? 0 : -1;
}

static void list_free(git_reference_iterator *iterator)
{
	free(iterator);
}

static int haves_list(git_reference_iterator **out, struct git_refdb_backend *backend,
		      const char *glob)
{
	struct haves_list *l = calloc(1, sizeof *l);

	(void)glob;
	if (!l)
		return -1;
	l->of = (const struct haves *)backend;
	l->parent.next = list_next;
	l->parent.next_name = list_next_name;
	l->parent.free = list_free;
	*out = &l->parent;
	return 0;
}

static void haves_free(git_refdb_backend *backend)
{
	free(backend);
}

/* --- stubs: required by libgit2, never called --- */

static int no_write(git_refdb_backend *b, const git_reference *ref, int force,
		    const git_signature *who, const char *message, const git_oid *old,
		    const char *old_target)
{
	(void)b, (void)ref, (void)force, (void)who, (void)message, (void)old;
	(void)old_target;
	return -1;
}

static int no_rename(git_reference **out, git_refdb_backend *b, const char *old, const char *new,
		     int force, const git_signature *who, const char *message)
{
	(void)out, (void)b, (void)old, (void)new, (void)force, (void)who, (void)message;
	return -1;
}

static int no_del(git_refdb_backend *b, const char *name, const git_oid *old,
		  const char *old_target)
{
	(void)b, (void)name, (void)old, (void)old_target;
	return -1;
}

static int no_log(git_refdb_backend *b, const char *name)
{
	(void)b, (void)name;
	return 0;
}

static int no_log_read(git_reflog **out, git_refdb_backend *b, const char *name)
{
	(void)out, (void)b, (void)name;
	return GIT_ENOTFOUND;
}

static int no_log_write(git_refdb_backend *b, git_reflog *log)
{
	(void)b, (void)log;
	return -1;
}

static int no_log_rename(git_refdb_backend *b, const char *old, const char *new)
{
	(void)b, (void)old, (void)new;
	return -1;
}

static void put_stubs(git_refdb_backend *b)
{
	b->write = no_write;
	b->rename = no_rename;
	b->del = no_del;
	b->has_log = b->ensure_log = b->reflog_delete = no_log;
	b->reflog_read = no_log_read;
	b->reflog_write = no_log_write;
	b->reflog_rename = no_log_rename;
}

/* --- interface --- */

static struct haves *haves_new(const struct str *commits, size_t count)
{
	struct haves *h = calloc(1, sizeof *h + count * sizeof *h->oid);

	if (!h)
		abort();
	git_refdb_init_backend(&h->parent, GIT_REFDB_BACKEND_VERSION);
	put_stubs(&h->parent);
	h->parent.exists = haves_exists;
	h->parent.lookup = haves_lookup;
	h->parent.iterator = haves_list;
	h->parent.free = haves_free;
	for (size_t i = 0; i < count; i++)
		if (commits[i].n == GIT_OID_HEXSZ &&
		    !git_oid_fromstrn(&h->oid[h->count], commits[i].p, commits[i].n))
			h->count++;
	return h;
}

int repo_show_only(git_repository *git, const struct str *commits, size_t count, git_refdb **before)
{
	git_refdb *shown = NULL;
	int code = git_repository_refdb(before, git);

	if (!code && !(code = git_refdb_new(&shown, git)) &&
	    !(code = git_refdb_set_backend(shown, &haves_new(commits, count)->parent)))
		code = git_repository_set_refdb(git, shown);
	git_refdb_free(shown);
	return code;
}

void repo_show_all(git_repository *git, git_refdb *before)
{
	if (before)
		git_repository_set_refdb(git, before);
	git_refdb_free(before);
}
