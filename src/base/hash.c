#include "base/hash.h"

#include <sodium/crypto_hash_sha256.h>

void sha256(struct str bytes, unsigned char out[SHA256_BYTES])
{
	crypto_hash_sha256(out, (const unsigned char *)bytes.p, bytes.n);
}

struct str sha256_hex(struct arena *mem, struct str bytes)
{
	unsigned char digest[SHA256_BYTES];
	char *out = arena_grow(mem, NULL, 0, 2 * SHA256_BYTES + 1);

	sha256(bytes, digest);
	for (size_t i = 0; i < 2 * SHA256_BYTES; i++)
		out[i] = "0123456789abcdef"[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
	out[2 * SHA256_BYTES] = '\0';
	return (struct str){ out, 2 * SHA256_BYTES };
}

/* A nibble at a time: a table of 16 needs no set-up, and records are short. */
uint32_t crc32c(uint32_t seed, struct str bytes)
{
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	uint32_t crc = ~seed;

	for (size_t i = 0; i < bytes.n; i++) {
		crc ^= (unsigned char)bytes.p[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}
