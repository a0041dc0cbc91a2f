#include "base/sign.h"

#include <sodium/crypto_sign_ed25519.h>
#include <sodium/utils.h>

#include "base/system/platform.h"

enum {
	PUBLIC = crypto_sign_ed25519_PUBLICKEYBYTES,
	SECRET = crypto_sign_ed25519_SECRETKEYBYTES,
	SIGNATURE = crypto_sign_ed25519_BYTES,
	SEED = crypto_sign_ed25519_SEEDBYTES,
	FORM = sodium_base64_VARIANT_ORIGINAL,
};

static struct str sign_encode(struct arena *mem, const unsigned char *bytes, size_t n)
{
	size_t size = sodium_base64_ENCODED_LEN(n, FORM);
	char *text = arena_text(mem, size);

	sodium_bin2base64(text, size, bytes, n, FORM);
	return (struct str){ text, size - 1 };
}

static bool sign_decode(struct str text, unsigned char *bytes, size_t n)
{
	size_t got = 0;
	const char *end = NULL;

	return text.p && !sodium_base642bin(bytes, n, text.p, text.n, NULL, &got, &end, FORM) &&
	       got == n && end == text.p + text.n;
}

struct sign_key sign_key_new(struct arena *mem)
{
	unsigned char public[PUBLIC], secret[SECRET], seed[SEED];

	platform_random(seed, sizeof seed);
	crypto_sign_ed25519_seed_keypair(public, secret, seed);
	return (struct sign_key){ sign_encode(mem, public, PUBLIC),
				  sign_encode(mem, secret, SECRET) };
}

struct str sign_make(struct arena *mem, struct str secret, struct str text)
{
	unsigned char key[SECRET], made[SIGNATURE];

	if (!sign_decode(secret, key, SECRET) ||
	    crypto_sign_ed25519_detached(made, NULL, (const unsigned char *)text.p, text.n, key))
		return STR_NONE;
	return sign_encode(mem, made, SIGNATURE);
}

bool sign_verify(struct str public, struct str signature, struct str text)
{
	unsigned char key[PUBLIC], made[SIGNATURE];

	return sign_decode(public, key, PUBLIC) && sign_decode(signature, made, SIGNATURE) &&
	       !crypto_sign_ed25519_verify_detached(made, (const unsigned char *)text.p, text.n,
						    key);
}

bool sign_key_valid(struct str public)
{
	unsigned char key[PUBLIC];

	return sign_decode(public, key, PUBLIC);
}
