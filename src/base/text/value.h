#ifndef BASE_TEXT_VALUE_H
#define BASE_TEXT_VALUE_H

#include <stdint.h>

#include "base/arena.h"

enum value_type {
	VALUE_NULL,
	VALUE_BOOL,
	VALUE_NUMBER,
	VALUE_STRING,
	VALUE_ARRAY,
	VALUE_OBJECT,
};

/*
 * A parsed JSON text. Strings point into the text where nothing in them was escaped, so the text
 * must outlive the value. Numbers stay as they were written, so that no digit is lost.
 */
struct value {
	struct str key; /* as a member of an object; absent elsewhere */
	enum value_type type;
	bool yes;     /* VALUE_BOOL */
	size_t count; /* VALUE_ARRAY, VALUE_OBJECT */
	struct value *item;
	struct str text; /* VALUE_STRING, VALUE_NUMBER */
};

enum {
	VALUE_DEPTH = 100,        /* arrays and objects inside each other */
	VALUE_DATA_DEPTH = 64,    /* of data that is kept: the rest is for what is around it */
	VALUE_NUMBER_MOST = 1000, /* characters; other readers stop at some 4,000 */
};

/* Why a text was refused: NULL, and where it stopped, or what is wrong. */
struct value_error {
	const char *why;
	size_t offset;
};

/*
 * RFC 8259, strictly: one value, no duplicate keys, valid UTF-8, surrogates in pairs, at most
 * VALUE_DEPTH deep. NULL: refused, and `error` says why.
 */
const struct value *value_parse(struct arena *mem, struct str text, struct value_error *error);

/* The same where the reason does not matter. */
static inline const struct value *value_read(struct arena *mem, struct str text)
{
	struct value_error error;

	return value_parse(mem, text, &error);
}

/* The same for text from elsewhere: also refused if it has more than `most` values. A value takes
 * many times the memory of its text. */
const struct value *value_parse_bounded(struct arena *mem, struct str text, size_t most,
					struct value_error *error);

/* How many arrays and objects are inside each other: 0 for a string or a number. */
unsigned value_depth(const struct value *v);

/* A member, or NULL; also NULL if `v` is NULL or not an object. */
const struct value *value_member(const struct value *v, struct str key);

/* The member's content; absent, or false, if it is missing or of another type. */
struct str value_text(const struct value *member);
bool value_number(const struct value *member, int64_t *out);

/* The same by a key that stands in the source. */
static inline const struct value *value_find(const struct value *v, const char *key)
{
	return value_member(v, str_of(key));
}

static inline struct str value_str(const struct value *v, const char *key)
{
	return value_text(value_find(v, key));
}

static inline bool value_int(const struct value *v, const char *key, int64_t *out)
{
	return value_number(value_find(v, key), out);
}

#endif
