#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

#include "base/arena.h"

enum { SHA256_BYTES = 32 };

void sha256(struct str bytes, unsigned char out[SHA256_BYTES]);
struct str sha256_hex(struct arena *mem, struct str bytes); /* lowercase */
struct str sha256_pieces(struct arena *mem, const struct str *piece, size_t count);

/* HMAC-SHA-256 of a text, as lowercase hexadecimal digits. */
struct str hmac_sha256_hex(struct arena *mem, struct str key, struct str text);

/* CRC-32C (Castagnoli); `seed` is the CRC of the preceding bytes, or 0. */
uint32_t crc32c(uint32_t seed, struct str bytes);

#endif
