#include "machines/lease_notes.h"

#include "base/system/file.h"
#include "base/system/path.h"
#include "machines/share.h"

static const struct str noted = { ".json", 5 };

static struct str lease_notes_folder(struct call *c, struct str home)
{
	return path_join(&c->mem, home, STR("leases"));
}

static struct str lease_note_path(struct call *c, struct str home, struct str id)
{
	return path_join(&c->mem, lease_notes_folder(c, home),
			 arena_fmt(&c->mem, STR_FMT STR_FMT, STR_ARG(id), STR_ARG(noted)));
}

enum err lease_note_put(struct call *c, struct str home, const struct lease *l)
{
	struct lease one = *l;
	struct leases file = { .first = &one };
	enum err e = file_make_folder(c, lease_notes_folder(c, home), 0700);

	one.next = NULL;
	return e ? e :
		   file_own_replace(c, lease_note_path(c, home, l->id), leases_encode(c, &file),
				    0600);
}

void lease_note_drop(struct call *c, struct str home, struct str id)
{
	struct call before = call_save(c);

	file_remove(c, lease_note_path(c, home, id));
	call_restore(c, &before);
}

struct lease_folder {
	struct call *c;
	struct str home;
	struct lease_note **tail;
};

static void lease_notes_see(void *arg, struct str name)
{
	struct lease_folder *f = arg;
	struct call *c = f->c;
	struct leases file = { 0 };
	struct lease_note *n;
	struct str id, text;

	if (!str_ends(name, noted))
		return;
	id = arena_copy(&c->mem, str_head(name, name.n - noted.n));
	if (file_own_read(c, lease_note_path(c, f->home, id), &text) ||
	    leases_parse(c, text, &file) || !file.first || !str_eq(file.first->id, id)) {
		call_forgive(c);
		lease_note_drop(c, f->home, id);
		return;
	}
	n = arena_new(&c->mem, struct lease_note);
	n->lease = *file.first;
	*f->tail = n;
	f->tail = &n->next;
}

enum err lease_notes_each(struct call *c, struct str home, struct lease_note **out)
{
	struct lease_folder f = { c, home, out };

	*out = NULL;
	return file_each(c, lease_notes_folder(c, home), lease_notes_see, &f);
}

bool lease_is_noted(struct call *c, const struct reservation *r)
{
	struct call before = call_save(c);
	struct lease_note *n = NULL;
	struct str home, gitdir;

	if (!share_is_on(c) || share_home(c, &home, &gitdir) || lease_notes_each(c, home, &n))
		n = NULL;
	while (n && !(str_eq(n->lease.scope, r->key) && n->lease.epoch == r->epoch))
		n = n->next;
	call_restore(c, &before);
	return n;
}
