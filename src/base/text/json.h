#ifndef BASE_TEXT_JSON_H
#define BASE_TEXT_JSON_H

#include <stdint.h>

#include "base/buf.h"
#include "base/names.h"

struct value;

/*
 * Writes one JSON text: no white space, the escapes and numbers of RFC 8785. Commas, quotes and
 * escapes are its business alone, and so is UTF-8: bytes of a string that are not UTF-8 are
 * written as U+FFFD. Members come in the order they are given; json_canonical() writes a parsed
 * value with its keys sorted.
 */
struct json {
	struct buf out;
	char close[128];
	unsigned char depth;
	bool comma;
};

static inline struct json json_new(struct arena *mem)
{
	return (struct json){ .out.mem = mem };
}

void json_object(struct json *j);
void json_array(struct json *j);
void json_end(struct json *j);

void json_key(struct json *j, struct str key);
void json_str(struct json *j, struct str s); /* absent: null */
void json_int(struct json *j, int64_t v);
void json_bool(struct json *j, bool v);
void json_null(struct json *j);
void json_raw(struct json *j, struct str text); /* JSON already; absent: null */

/* A value as it was read: members in their order, every number as it was. */
void json_value(struct json *j, const struct value *v);

/*
 * RFC 8785: keys sorted by UTF-16 units, numbers as ECMAScript prints them; except that an
 * integer keeps all its digits, however many they are.
 */
void json_canonical(struct json *j, const struct value *v);

/* Which of two keys comes first in RFC 8785: as strcmp(), by UTF-16 units. */
int json_key_cmp(struct str a, struct str b);

/* A key that stands in the source: nothing in it has to be escaped. */
void json_name(struct json *j, struct str key);

/* A member of the open object. */
static inline void json_put_str(struct json *j, const char *key, struct str s)
{
	json_name(j, str_of(key));
	json_str(j, s);
}

/* The word of an enum's value. */
static inline void json_put_word(struct json *j, const char *key, const struct names *names,
				 int value)
{
	json_put_str(j, key, str_of(names_word(names, value)));
}

static inline void json_put_int(struct json *j, const char *key, int64_t v)
{
	json_name(j, str_of(key));
	json_int(j, v);
}

static inline void json_put_bool(struct json *j, const char *key, bool v)
{
	json_name(j, str_of(key));
	json_bool(j, v);
}

static inline void json_put_raw(struct json *j, const char *key, struct str text)
{
	json_name(j, str_of(key));
	json_raw(j, text);
}

static inline void json_put_object(struct json *j, const char *key)
{
	json_name(j, str_of(key));
	json_object(j);
}

static inline void json_put_array(struct json *j, const char *key)
{
	json_name(j, str_of(key));
	json_array(j);
}

/* All members of an object that is JSON already, and not empty. */
void json_put_members(struct json *j, struct str object);

/* The whole text; every object and array must be closed. */
struct str json_text(struct json *j);

#endif
