#ifndef HOSTS_JSONC_H
#define HOSTS_JSONC_H

#include "base/call.h"

struct value;

/*
 * Edits a JSON file of a user, which may have comments and trailing commas: one member changes,
 * every other byte stays. A path is a NULL-terminated list of at least one key, from the root
 * object.
 *
 * ERR_INVALID_INPUT, with the line, if the text is not RFC 8259 (apart from comments and trailing
 * commas), has a key twice, is not an object, or has a value other than an object on the path. The
 * text is never repaired.
 */

/*
 * Sets the member to `value`, which is JSON. A new member becomes the last of its object; missing
 * objects on the path are created. The layout follows the file, and replaces the white space of an
 * empty object. If the member has an equal value already, the text stays. An absent or blank text
 * begins a new document.
 */
enum err jsonc_put(struct call *c, struct str text, const char *const *path, struct str value,
		   struct str *out);

/*
 * Removes the member, and the objects on the path that become empty, except the root and objects
 * with a comment. This undoes jsonc_put() to the byte, unless the object had been empty: then that
 * object is removed too, or becomes "{}" if it is the root. install_drop() restores those bytes
 * from its backup of the file.
 */
enum err jsonc_remove(struct call *c, struct str text, const char *const *path, struct str *out);

/* The text of the value, with the comments in it; or absent. */
enum err jsonc_find(struct call *c, struct str text, const char *const *path, struct str *out);

/* The parsed document, without comments; NULL if the text is absent or blank. */
enum err jsonc_parse(struct call *c, struct str text, const struct value **out);

#endif
