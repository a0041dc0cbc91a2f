#ifndef BASE_ID_H
#define BASE_ID_H

#include <stdint.h>

#include "base/arena.h"

/* Random hexadecimal digits, at most 64, NUL-terminated. */
struct str id_random(struct arena *mem, size_t digits);

/* A new id, such as msg_20260213_220001_7f3c90aa12bc34de. */
struct str id_mint(struct arena *mem, const char *kind, int64_t now_ms);

/* Like id_mint(), with the last part given. */
struct str id_mint_as(struct arena *mem, const char *kind, int64_t now_ms, struct str digits);

/* Does the text have the form of a minted id? If not, a user may have chosen it. */
bool id_is_minted(struct str id, const char *kind);

#endif
