#ifndef BEADS_MODEL_BEAD_H
#define BEADS_MODEL_BEAD_H

#include "base/arena.h"
#include "beads/model/stamp.h"
#include "store/db/bead_words.h"

struct json;
struct value;

/*
 * A bead as it merges: a product of registers, each with the mark of its last write, a set of
 * notes, and perhaps the mark of its deletion. Who it is, is its lineage: its id and the mark of
 * its creation.
 *
 * A bead need not have all of its registers: a change is a bead that has only those that it sets.
 * Joined to what was there before, it is applied.
 */

/* The members of a bead, in the order of their keys; see members.def. */
enum member {
#define MEMBER(NAME, key, place, rule, look, flags)   MEMBER_##NAME,
#define PART(NAME, key, place, rule, look, flags, OF) MEMBER_##NAME,
#include "beads/model/members.def"
	MEMBERS,
};
extern const struct names bead_members;
int member_find(struct str key); /* enum member; -1: no member has this key */

enum {
#define MEMBER(NAME, key, place, rule, look, flags)   CORE_MEMBER_##NAME,
#define PART(NAME, key, place, rule, look, flags, OF) CORE_MEMBER_##NAME,
#define EXTENSION(NAME, key, type, flags)
#include "beads/model/members.def"
	CORE_MEMBERS, /* members that are not extensions; extensions follow them */
	EXTENSIONS = MEMBERS - CORE_MEMBERS,
};

/* Members are written and merged in registers; most are alone in theirs. */
enum reg {
#define MEMBER(NAME, key, place, rule, look, flags) REG_##NAME,
#include "beads/model/members.def"
	REGS,
	CORE_REGS = REGS - EXTENSIONS, /* each extension has a register of its own */
};

/* See members.def. */
enum member_flags {
	HASHED = 1 << 0,
	SEARCHED = 1 << 1,
	BRIEF = 1 << 2,
	FULL = 1 << 3,
	REQUIRED = 1 << 4,
};
unsigned member_flags(enum member m);

/* A text member with its own option of 'bd create' and 'bd update'. */
struct member_option {
	const char *option; /* NULL: no option */
	const char *also;   /* another spelling; or NULL */
	bool section;       /* 'bd show' prints it below a heading */
};
const struct member_option *member_option(enum member m);

enum reg member_reg(enum member m);
const char *reg_word(enum reg r);  /* its key in `_v` */
bool reg_is_extension(enum reg r); /* a bead may be whole without it; see members.def */

/* A member that this program does not know, and keeps unchanged. */
struct extra {
	struct str key, value; /* canonical JSON */
	struct mark mark;
};
int extra_cmp(const void *a, const void *b); /* for qsort(), by key */

struct extension {
	struct mark mark; /* absent: the bead does not have this register */
	struct str value; /* canonical JSON; absent: null */
};

struct note {
	struct str id, author, content;
	struct stamp at;
};

struct bead {
	struct str id;
	struct mark created;
	struct mark mark[CORE_REGS];     /* absent: the bead does not have this register */
	struct str member[CORE_MEMBERS]; /* canonical JSON; absent: null */
	struct extension *extension;     /* EXTENSIONS of them; NULL: most beads have none */
	struct extra *extra;             /* by key */
	struct note *note;               /* by id */
	size_t extras, notes;
	struct mark deleted; /* absent: not deleted, or written to since */
	struct str reason;   /* why it was deleted, canonical JSON; absent: null */
};

/* Copies everything that the bead points to into the arena. */
void bead_own(struct arena *mem, struct bead *b);

/* The last write to any of its registers, or its last note. */
struct mark bead_top(const struct bead *b);

/* Not deleted, or written to after the deletion. */
bool bead_live(const struct bead *b);

/* Has only a lineage: it represents the end of an edge. */
bool bead_blank(const struct bead *b);

/* Has every register but extensions, so it is not only a change. */
bool bead_whole(const struct bead *b);

/* Sets the mark of every register but extensions. */
void bead_mark_all(struct bead *b, struct mark mark);

/* The mark of a register, and a member; of an extension, too. */
struct mark bead_mark(const struct bead *b, enum reg r);
struct str bead_member(const struct bead *b, enum member m);

/* A bead that was copied by assignment shares its extensions with the original. This gives it its
 * own, which it needs before one is set. */
void bead_own_extensions(struct arena *mem, struct bead *b);

void bead_put_mark(struct arena *mem, struct bead *b, enum reg r, struct mark mark);

/* Is the register of both beads the same, apart from its mark? */
bool bead_same_register(const struct bead *a, const struct bead *b, enum reg r);
void bead_drop_register(struct bead *b, enum reg r);

/* Sets a member. The caller sets the mark of its register. */
void bead_put(struct arena *mem, struct bead *b, enum member m, struct str canonical);
void bead_put_text(struct arena *mem, struct bead *b, enum member m, struct str text);
void bead_put_int(struct arena *mem, struct bead *b, enum member m, int64_t v);
void bead_put_stamp(struct arena *mem, struct bead *b, enum member m, struct stamp s);

/* A member that only other programs know: canonical JSON, "null" for none. */
void bead_put_extra(struct arena *mem, struct bead *b, struct str key, struct str value,
		    struct mark mark);

/* The value of a member; absent, or `otherwise`, if it is null. */
struct str bead_text(struct arena *mem, const struct bead *b, enum member m);
int64_t bead_int(const struct bead *b, enum member m, int64_t otherwise);
struct stamp bead_stamp(const struct bead *b, enum member m);

/*
 * The moment before which the bead is deferred; 0: it is not deferred. MOMENT_LAST: until it is
 * undeferred, because it is called deferred without a time.
 */
int64_t bead_deferred(struct arena *mem, const struct bead *b);
int bead_status(const struct bead *b); /* enum bead_status */
int bead_type(const struct bead *b);   /* enum bead_type */

/* The request that created the bead: its receipt_key() and a digest of its arguments, so that a
 * repeat in another clone is recognised. Absent if the request had no id. */
struct str bead_request(struct arena *mem, const struct bead *b, struct str *args);
void bead_put_request(struct arena *mem, struct bead *b, struct str key, struct str args,
		      struct mark mark);

/* The labels, sorted, without duplicates. */
struct str *bead_labels(struct arena *mem, const struct bead *b, size_t *count);
struct str labels_encode(struct arena *mem, struct str *labels, size_t count);

/* The normalised scopes (agents/scope.h) that the bead is expected to change, sorted, without
 * duplicates. */
struct str *bead_touches(struct arena *mem, const struct bead *b, size_t *count);

/* "1" or "P1", from 0 to 4. */
bool priority_parse(struct str text, int64_t *out);

/* A valid id: letters, digits, '-', '_' and '.', which it does not end with. */
bool bead_id_valid(struct str id);

/* Can a valid id start with this text? "bd-" is no id, but many ids start with it. */
bool bead_id_starts(struct str text);

/* A valid prefix of ids. */
bool bead_prefix_valid(struct str prefix);

/* The longest id that may be chosen. Each remap adds four characters. */
enum { ID_CHOSEN_MOST = 120, BEAD_ID_MOST = 200, BEAD_PREFIX_MOST = 64 };

/* The new id for one of two beads that were given the same id. It is a function of the lineage
 * alone, so that every clone computes the same. `id` is the old id. */
struct str bead_other_id(struct arena *mem, struct str id, struct mark created);

/* The n-th id for a copy of a bead whose own id cannot be used any more. It is a function of the
 * lineage too, so that clones that copy the bead at the same time make the same copy. */
struct str bead_copy_id(struct arena *mem, struct str id, struct mark created, size_t n);

#endif
