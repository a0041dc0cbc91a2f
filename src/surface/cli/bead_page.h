#ifndef SURFACE_CLI_BEAD_PAGE_H
#define SURFACE_CLI_BEAD_PAGE_H

#include "base/call.h"

struct request;
struct value;

/*
 * A bead as the user edits it: front matter with one line per field, then the texts, separated by
 * lines such as "<!-- design -->".
 *
 *	---
 *	title: Parser fails on empty input
 *	labels: parser, urgent
 *	---
 *	The description.
 *
 *	<!-- design -->
 */
enum page_field {
	PAGE_TITLE,
	PAGE_STATUS,
	PAGE_PRIORITY,
	PAGE_TYPE,
	PAGE_ASSIGNEE,
	PAGE_LABELS,
	PAGE_PARENT,
	PAGE_EXTERNAL_REF,
	PAGE_DESCRIPTION, /* from here on texts */
	PAGE_DESIGN,
	PAGE_ACCEPTANCE,
	PAGE_FIELDS,
};

struct bead_page {
	struct str text;               /* the whole page */
	struct str mark[PAGE_FIELDS];  /* the lines before the texts */
	struct str value[PAGE_FIELDS]; /* as written on the page; absent: the line is missing */
	struct str id, hash, updated_by;
};

/* The page of a bead in the reply of 'bd show'. */
struct bead_page page_write(struct arena *mem, const struct value *bead);

/* Reads a page that began as `from`. INVALID_INPUT, with the number of the line. */
enum err page_read(struct call *c, const struct bead_page *from, struct str text,
		   struct bead_page *out);

/* Does the page say something else about the field? */
bool page_differs(const struct bead_page *a, const struct bead_page *b, enum page_field f);
const char *page_word(enum page_field f);

/* Sets the field in a request of 'bd update'. */
enum err page_put(struct call *c, const struct bead_page *page, enum page_field f,
		  struct request *update);

#endif
