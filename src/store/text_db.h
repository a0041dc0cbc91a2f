#ifndef STORE_TEXT_DB_H
#define STORE_TEXT_DB_H

#include "base/call.h"

/*
 * A full-text index of a store: finds texts by their words, or by the bead that they are about, and
 * counts those. It is a cache, `texts.db` in the store's folder, and holds where each text is, not the text. Opening
 * it adds the texts that are new. Deleting it is always safe. If the file cannot be written, the
 * index is built in memory.
 */
struct text_db {
	struct db *db;
	struct str path;
};

/* Called with the source of a text, and its key there; returns false to stop. */
typedef bool text_visit(struct call *c, struct str source, struct str key, void *arg);

/* A text, for text_db_put(). */
struct text_new {
	struct str source, key;
	struct str bead; /* absent: about no bead */
	int64_t at_ms;
	struct str text;
};

/*
 * An append-only source of texts: a record, or a table. A place is a position in it, as a number.
 * The mark of a place is a fingerprint of what precedes it: if the mark differs, the source was
 * replaced, and the index is rebuilt.
 */
struct text_source {
	struct str name;
	void *arg;
	enum err (*end)(struct call *c, const struct text_source *s, int64_t *place);
	enum err (*mark)(struct call *c, const struct text_source *s, int64_t place,
			 struct str *out); /* absent: there is no such place */
	/* puts all texts after `place`, and sets it to the end */
	enum err (*read)(struct call *c, const struct text_source *s, int64_t *place,
			 struct text_db *t);
};

/*
 * `folder` is where the cache file is; absent: the index is kept in memory. The sources are sorted
 * by their names.
 */
enum err text_db_open(struct call *c, struct str folder, const struct text_source *sources,
		      size_t count, struct text_db *out);
void text_db_close(struct text_db *t);

enum err text_db_put(struct call *c, struct text_db *t, const struct text_new *text);

/*
 * Numbers about a bead, which are kept with the index, and its newest text: its time, who wrote it
 * and what kind of text it is. Of texts with the same time, the one whose source has the last name
 * counts as the newest, and in one source the last one.
 */
struct text_tally {
	int64_t unread, unacked;
	int64_t at_ms;
	struct str by;
	int64_t kind;
};
/* Adds the numbers; the text is a new one, or one that is known. */
enum err text_db_count(struct call *c, struct text_db *t, struct str source, struct str bead,
		       const struct text_tally *change);
/* All zeros if there is no text about the bead. */
enum err text_db_tally(struct call *c, struct text_db *t, struct str bead, struct text_tally *out);

/*
 * Visits the texts that have all words, at least as prefixes, newest first; or the texts about a
 * bead, by either form of its id (`or_bead` may be absent), oldest first.
 */
enum err text_db_find(struct call *c, struct text_db *t, struct str words, text_visit *visit,
		      void *arg);
enum err text_db_about(struct call *c, struct text_db *t, struct str bead, struct str or_bead,
		       text_visit *visit, void *arg);

#endif
