/* meta.json of another machine: it is signed here, as its owner could; then it may be accepted. The
 * same file with another number, or under another ref, is not. */
#include "base/sign.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "fuzz.h"
#include "machines/log.h"

#define MACHINE "0123456789abcdef"

/* The members of the input, with a key; if there is a signature, with it and with `count`. */
static struct str meta_text(struct call *c, const struct value *v, struct str key,
			    struct str signature, int64_t count)
{
	struct json j = json_new(&c->mem), canonical = json_new(&c->mem);

	json_object(&j);
	for (size_t i = 0; i < v->count; i++)
		if (!str_is(v->item[i].key, "key") && !str_is(v->item[i].key, "signature") &&
		    !str_is(v->item[i].key, "count")) {
			json_key(&j, v->item[i].key);
			json_value(&j, &v->item[i]);
		}
	json_put_int(&j, "count", count);
	json_put_str(&j, "key", key);
	if (signature.p)
		json_put_str(&j, "signature", signature);
	json_end(&j);
	json_canonical(&canonical, value_read(&c->mem, json_text(&j)));
	return json_text(&canonical);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct arena kept;
	static struct sign_key key;
	struct call c = fuzz_call();
	struct str text = fuzz_text(data, size), signature, head;
	const struct value *v = value_read(&c.mem, text);
	struct log_claim found;
	int64_t count = 0;

	if (!key.public.p)
		key = sign_key_new(&kept);
	rule(log_check_meta(&c, STR(MACHINE), key.public, text, &found),
	     "what nobody has signed is refused");
	if (v && v->type == VALUE_OBJECT) {
		value_int(v, "count", &count);
		head = arena_fmt(&c.mem, LOG_REFS MACHINE "\n" STR_FMT,
				 STR_ARG(meta_text(&c, v, key.public, STR_NONE, count)));
		signature = sign_make(&c.mem, key.secret, head);
		text = meta_text(&c, v, key.public, signature, count);
		rule(log_check_meta(&c, STR(MACHINE), key.public, text, &found) ||
			     (found.count == count && count >= 0),
		     "the signed number is found");
		rule(log_check_meta(&c, STR("fedcba9876543210"), key.public, text, &found),
		     "a log under the ref of another machine is refused");
		text = meta_text(&c, v, key.public, signature, count ^ 1);
		rule(log_check_meta(&c, STR(MACHINE), key.public, text, &found),
		     "an altered file is refused");
	}
	call_release(&c);
	return 0;
}
