#ifndef BASE_TEXT_URL_H
#define BASE_TEXT_URL_H

#include "base/arena.h"

/*
 * Passwords and tokens in URLs: https://user:password@host, https://token@host,
 * https://host/path?token=…
 */

/*
 * The text as it may be shown or logged: what could be secret in the URLs in it is "***". A URL
 * ends at a space, a quote or an angle bracket. What is not well-formed loses rather too much
 * than too little.
 */
struct str url_hide(struct arena *mem, struct str text);

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
