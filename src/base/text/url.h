#ifndef BASE_TEXT_URL_H
#define BASE_TEXT_URL_H

#include "base/arena.h"

/*
 * Handles passwords and tokens in URLs: https://user:password@host, https://token@host,
 * https://host/path?token=…
 */

/*
 * The text, safe to show or log: possible secrets of the URLs in it are replaced with "***", even
 * if the scheme is mistyped or missing ("http:/user:password@host"), or the '@' or ':' is escaped.
 * A URL ends at a space, a quote or an angle bracket. In a malformed URL, too much is hidden rather
 * than too little.
 */
struct str url_hide(struct arena *mem, struct str text);

/* Like url_hide(), for a text that is a single URL, whatever characters it contains. */
struct str url_shown(struct arena *mem, struct str url);

/* The length of [user@]host in an address of the form [user@]host:path. */
size_t url_scp_host_length(struct str address);

/*
 * Does an address of the form [user@]host:path look like user:password@host, so that it is
 * ambiguous? A path with '@' is unambiguous if the address names a user, and the path has no colon.
 */
bool url_scp_has_password(struct str address);

/* A URL without its password, safe to pass to other programs. */
struct str url_drop_password(struct arena *mem, struct str url);

/*
 * The secret of a URL, which must be hidden wherever it occurs: the password, or a user name
 * without a password that is long enough to be a token; absent: none.
 */
struct str url_secret(struct str url);

/* Decodes percent escapes, such as "%20". */
struct str url_decode(struct arena *mem, struct str text);

#endif
