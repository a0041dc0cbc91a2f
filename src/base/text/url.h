#ifndef BASE_TEXT_URL_H
#define BASE_TEXT_URL_H

#include "base/arena.h"

/*
 * Passwords and tokens in URLs: https://user:password@host, https://token@host,
 * https://host/path?token=…
 */

/*
 * The text as it may be shown or logged: what could be secret in the URLs in it is "***", also in
 * those whose scheme is mistyped or missing ("http:/user:password@host"). A URL ends at a space,
 * a quote or an angle bracket. What is not well-formed loses rather too much than too little.
 */
struct str url_hide(struct arena *mem, struct str text);

/* The same for a text that is one URL as a whole, whatever characters are in it. */
struct str url_shown(struct arena *mem, struct str url);

/*
 * Does an address of the form [user@]host:path look like user:password@host? Then nobody can tell
 * which of them was meant. A path with '@' is clear if the address names a user.
 */
bool url_scp_has_password(struct str address);

/* A URL without its password, which may be given to other programs. */
struct str url_drop_password(struct arena *mem, struct str url);

/*
 * What of a URL is secret wherever it stands: the password, or a name without one that is long
 * enough to be a token; absent: nothing.
 */
struct str url_secret(struct str url);

/* What a URL has as "%20" is a space. */
struct str url_decode(struct arena *mem, struct str text);

#endif
