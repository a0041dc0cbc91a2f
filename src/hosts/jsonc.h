#ifndef HOSTS_JSONC_H
#define HOSTS_JSONC_H

#include "base/call.h"

struct value;

/*
 * Edits of somebody else's JSON file, which may have comments and trailing commas: one member
 * changes, every other byte stays as it was. A path is a NULL-terminated list of keys from the
 * root object, at least one.
 *
 * ERR_INVALID_INPUT, with the line: the text is not RFC 8259 but for comments and trailing
 * commas, has one key twice, is not an object, or has something else than an object on the way of
 * the path. The text is never repaired.
 */

/*
 * Sets the member to `value`, which is JSON. A new member becomes the last of its object, with
 * the objects on its way; it is laid out as the file is, and replaces the blanks of an object
 * that held nothing else. A member that means the same already leaves the text as it is. An
 * absent or blank text is a document to be begun.
 */
enum err jsonc_put(struct call *c, struct str text, const char *const *path, struct str value,
		   struct str *out);

/*
 * Takes the member out, and the objects on its way that it leaves empty, but for the root and for
 * those that have a comment in them. What jsonc_put() added to a text is gone to the byte, unless
 * the object it was put into was empty: that object goes too, or is "{}" if it is the root,
 * whatever blanks it had. install_drop() restores those bytes from its backup of the file.
 */
enum err jsonc_remove(struct call *c, struct str text, const char *const *path, struct str *out);

/* The value as it is written, with the comments inside it; or absent. */
enum err jsonc_find(struct call *c, struct str text, const char *const *path, struct str *out);

/* What it says, without its comments; NULL: the text is absent or blank. */
enum err jsonc_parse(struct call *c, struct str text, const struct value **out);

#endif
