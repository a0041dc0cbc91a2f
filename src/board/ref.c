#include "board/ref.h"

#include "base/text/json.h"

static bool all_digits(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0;
}

/* JSON has no leading zeros; as numbers, 007 and 7 are the same thing. */
static struct str ref_number(struct str digits)
{
	while (digits.n > 1 && digits.p[0] == '0')
		digits = str_skip(digits, 1);
	return digits;
}

enum err ref_make(struct call *c, struct str where, struct str what, struct str ref,
		  struct ref *out)
{
	struct json j = json_new(&c->mem);

	if (!where.n || !what.n || !ref.n)
		return call_fail(c, ERR_INVALID_REF_FORMAT,
				 "a reference has three parts, and no part of '" STR_FMT ":" STR_FMT
				 ":" STR_FMT "' may be empty",
				 STR_ARG(where), STR_ARG(what), STR_ARG(ref));
	if (memchr(where.p, ':', where.n) || memchr(what.p, ':', what.n) ||
	    memchr(ref.p, ':', ref.n))
		return call_fail(c, ERR_INVALID_REF_FORMAT,
				 "no part of a reference may contain a colon: '" STR_FMT ":" STR_FMT
				 ":" STR_FMT "'",
				 STR_ARG(where), STR_ARG(what), STR_ARG(ref));
	*out = (struct ref){ .where = where, .what = what, .json = ref_number(ref) };
	if (!all_digits(ref)) {
		json_str(&j, ref);
		out->json = json_text(&j);
	}
	return ERR_OK;
}

enum err ref_parse(struct call *c, struct str text, struct ref *out)
{
	struct str rest = text, part[3];
	size_t n = 0;

	while (n < 3 && str_next(&rest, ':', &part[n]))
		n++;
	if (n < 3 || rest.p)
		return call_fail(c, ERR_INVALID_REF_FORMAT,
				 "'" STR_FMT "' is not a reference of three parts", STR_ARG(text));
	return ref_make(c, part[0], part[1], part[2], out);
}

enum err ref_choose(struct call *c, const struct ref *whole, const struct str part[3],
		    struct ref *out)
{
	*out = *whole;
	if (whole->where.p || !(part[0].p || part[1].p || part[2].p))
		return ERR_OK;
	return ref_make(c, part[0], part[1], part[2], out);
}

struct str ref_encode_all(struct call *c, const struct ref *refs, size_t count)
{
	struct json j = json_new(&c->mem);

	json_array(&j);
	for (size_t i = 0; i < count; i++) {
		json_object(&j);
		json_put_str(&j, "where", refs[i].where);
		json_put_str(&j, "what", refs[i].what);
		json_put_raw(&j, "ref", refs[i].json);
		json_end(&j);
	}
	json_end(&j);
	return json_text(&j);
}
