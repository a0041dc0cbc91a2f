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
 * A parsed JSON text. Strings without escapes point into the text, so the text must outlive the
 * value. Numbers keep their spelling, so that no digit is lost.
 */
struct value {
	struct str key; /* of a member of an object; else absent */
	enum value_type type;
	bool yes;     /* VALUE_BOOL */
	size_t count; /* VALUE_ARRAY, VALUE_OBJECT */
	struct value *item;
	struct str text; /* VALUE_STRING, VALUE_NUMBER */
};

enum {
	VALUE_DEPTH = 100,        /* maximum nesting of arrays and objects */
	VALUE_DATA_DEPTH = 64,    /* of stored data, which other values wrap */
	VALUE_NUMBER_MOST = 1000, /* characters; other parsers stop at about 4,000 */
};

/* Why a text was refused (NULL: it was accepted), and at which offset. */
struct value_error {
	const char *why;
	size_t offset;
};

/*
 * Parses RFC 8259 strictly: one value, no duplicate keys, valid UTF-8, surrogates in pairs, nested
 * at most VALUE_DEPTH deep. NULL: refused, with the reason in `error`.
 */
const struct value *value_parse(struct arena *mem, struct str text, struct value_error *error);

/* Like value_parse(), without the reason. */
static inline const struct value *value_read(struct arena *mem, struct str text)
{
	struct value_error error;

	return value_parse(mem, text, &error);
}

/*
 * Like value_parse(), for untrusted text: also refuses more than `most` values, because a value
 * takes many times the memory of its text.
 */
const struct value *value_parse_bounded(struct arena *mem, struct str text, size_t most,
					struct value_error *error);

/*
 * Parses the value at the start of a text and removes it, with the blanks before and after it, from
 * the text. NULL: there is none, or it is not complete.
 */
const struct value *value_parse_first(struct arena *mem, struct str *text);

/* The nesting of arrays and objects: 0 for a string or a number. */
unsigned value_depth(const struct value *v);

/* A member, or NULL; also NULL if `v` is NULL or not an object. */
const struct value *value_member(const struct value *v, struct str key);

/* The member's content; absent, or false, if the member is missing or of another type. */
struct str value_text(const struct value *member);
bool value_number(const struct value *member, int64_t *out);

/* Like value_member(), with a key from a literal. */
static inline const struct value *value_find(const struct value *v, const char *key)
{
	return value_member(v, str_of(key));
}

/* The item after `one`, the first one after NULL; NULL: there are no more, or no list. */
static inline const struct value *value_next(const struct value *list, const struct value *one)
{
	if (!one)
		return list && list->count ? list->item : NULL;
	return one + 1 < list->item + list->count ? one + 1 : NULL;
}

/* A loop over the items of an array, or the members of an object. */
#define VALUE_EACH(one, list)                                                                   \
	for (const struct value *one##_list = (list), *one = value_next(one##_list, NULL); one; \
	     one = value_next(one##_list, one))

static inline struct str value_str(const struct value *v, const char *key)
{
	return value_text(value_find(v, key));
}

static inline bool value_int(const struct value *v, const char *key, int64_t *out)
{
	return value_number(value_find(v, key), out);
}

/* A member that is a number or a boolean; 0, or false, if it is missing or of another type. */
static inline int64_t value_count(const struct value *v, const char *key)
{
	int64_t n = 0;

	value_int(v, key, &n);
	return n;
}

static inline bool value_yes(const struct value *v, const char *key)
{
	const struct value *member = value_find(v, key);

	return member && member->type == VALUE_BOOL && member->yes;
}

#endif
