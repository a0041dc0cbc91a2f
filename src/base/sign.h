#ifndef BASE_SIGN_H
#define BASE_SIGN_H

#include "base/arena.h"

/* Ed25519 signatures. Keys and signatures are base64 text. */
struct sign_key {
	struct str public, secret;
};

struct sign_key sign_key_new(struct arena *mem);

/* The signature of a text; absent if `secret` is not a key. */
struct str sign_make(struct arena *mem, struct str secret, struct str text);
bool sign_verify(struct str public, struct str signature, struct str text);

/* Does the text have the form of a public key? */
bool sign_key_valid(struct str public);

#endif
