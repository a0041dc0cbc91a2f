#ifndef OP_KINDS_H
#define OP_KINDS_H

#include "op/field.h"

/* Shared by the files that define kinds of parameters. */

#define INVALID(f) ((f)->invalid ? (f)->invalid : ERR_INVALID_INPUT)

extern const int64_t kind_no_int; /* `none` of the kinds that are stored as int64_t */

/* The JSON value has another type than the kind's. */
enum err kind_fail_type(struct call *c, const struct field *f);

enum err str_from_text(struct call *c, const struct field *f, struct str text, void *at);
void str_to_json(struct json *j, const struct field *f, const void *at);
void str_schema(struct json *j, const struct field *f);

void int_to_json(struct json *j, const struct field *f, const void *at);
void int_schema(struct json *j, const struct field *f);

#endif
