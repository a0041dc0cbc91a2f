#ifndef BASE_TEXT_JSON_H
#define BASE_TEXT_JSON_H

#include <stdint.h>

#include "base/buf.h"
#include "base/names.h"

struct value;

/*
 * Writes one JSON text: no white space, with the escapes and numbers of RFC 8785. It alone handles
 * commas, quotes, escapes and UTF-8: invalid bytes of a string are written as U+FFFD. Members are
 * written in the given order; json_canonical() writes a parsed value with its keys sorted.
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

/* Drops what was written: the next text begins. */
void json_restart(struct json *j);

void json_object(struct json *j);
void json_array(struct json *j);
void json_end(struct json *j);

void json_key(struct json *j, struct str key);
void json_str(struct json *j, struct str s); /* absent: null */
void json_int(struct json *j, int64_t v);
void json_bool(struct json *j, bool v);
void json_null(struct json *j);
void json_strs(struct json *j, const struct str *list, size_t count);
void json_raw(struct json *j, struct str text); /* text that is already JSON; absent: null */

/* Writes a parsed value with its original order of members and spelling of numbers. */
void json_value(struct json *j, const struct value *v);

/*
 * Writes a value as RFC 8785: keys sorted by UTF-16 units, numbers as ECMAScript prints them,
 * except that integers keep all their digits.
 */
void json_canonical(struct json *j, const struct value *v);

/* Compares two keys in the order of RFC 8785, by UTF-16 units; result as in strcmp(). */
int json_key_cmp(struct str a, struct str b);

/* Writes a key from a literal, which needs no escapes. */
void json_name(struct json *j, struct str key);

/* The functions below write a member of the open object. */
static inline void json_put_str(struct json *j, const char *key, struct str s)
{
	json_name(j, str_of(key));
	json_str(j, s);
}

/* The same, unless the text is absent, or empty. */
static inline void json_put_present(struct json *j, const char *key, struct str s)
{
	if (s.p)
		json_put_str(j, key, s);
}

static inline void json_put_filled(struct json *j, const char *key, struct str s)
{
	if (s.n)
		json_put_str(j, key, s);
}

/* Writes the word for an enum's value. */
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

static inline void json_put_strs(struct json *j, const char *key, const struct str *list,
				 size_t count)
{
	json_name(j, str_of(key));
	json_strs(j, list, count);
}

/* Copies a member of another object, with its key. */
void json_put_member(struct json *j, const struct value *member);

/* Adds all members of an object that is already JSON and not empty. */
void json_put_members(struct json *j, struct str object);

/* The whole text; every object and array must be closed. */
struct str json_text(struct json *j);

/* One value as text: a string, or a parsed value as json_canonical() writes it. */
struct str json_str_text(struct arena *mem, struct str s);
struct str json_canonical_text(struct arena *mem, const struct value *v);

#endif
