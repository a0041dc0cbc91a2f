/* Whatever the parser takes can be written and read again, and stays the same. */
#include "base/json.h"
#include "base/utf8.h"
#include "base/value.h"
#include "fuzz.h"

static const char *const corpus[] = {
	"null",
	"[true,false,null]",
	"[0,-0,1,-1,1.5,-2.25e-7,1E400,123456789012345678901234567890,0.1,1e21,5e-324]",
	"\"\"",
	"\"plain text that is longer than eight bytes\"",
	"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\u0000\"",
	"\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xef\xbf\xbf \x7f\"",
	"{}",
	"{\"a\":1,\"b\":[],\"\":{},\"\\u0061b\":null,\"\xc3\xa9\":\"x\"}",
	"[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]",
	" {\n \"id\" : 123 ,\t\"tags\" : [ \"a\" , \"b\" ] , \"ref\" : { \"where\" : "
	"\"tt\" } } \r\n",
	"{\"k0\":0,\"k1\":1,\"k2\":2,\"k3\":3,\"k4\":4,\"k5\":5,\"k6\":6,\"k7\":7,\"k8\":"
	"8,"
	"\"k9\":9,\"l0\":0,\"l1\":1,\"l2\":2,\"l3\":3,\"l4\":4,\"l5\":5,\"l6\":6,\"l7\":"
	"7,"
	"\"l8\":8,\"l9\":9,\"m0\":0,\"m1\":1,\"m2\":2,\"m3\":3,\"m4\":4,\"m5\":5,\"m6\":"
	"6,"
	"\"m7\":7,\"m8\":8,\"m9\":9,\"n0\":0,\"n1\":1,\"n2\":2,\"n3\":3}",
	"{\"id\":7,\"from_agent\":\"claude-01\",\"content\":\"line one\\nline "
	"\xe2\x86\x92 "
	"two\",\"priority\":\"high\",\"in_reply_to\":null,\"refs\":[{\"where\":\"tt\","
	"\"what\":\"issue\",\"ref\":42}],\"created_at\":\"2026-11-15T21:31:59.123Z\"}",
};

static struct str write_text(struct arena *mem, const struct value *v, bool canonical)
{
	struct json j = { .out.mem = mem };

	if (canonical)
		json_canonical(&j, v);
	else
		json_value(&j, v);
	return json_text(&j);
}

/* What is written for a text is read again, and written the same. */
static const char *check_again(struct arena *mem, struct str text, bool canonical)
{
	struct value_error error;
	const struct value *v = value_parse(mem, text, &error);

	if (!v)
		return "what was written is not valid";
	if (!str_eq(write_text(mem, v, canonical), text))
		return "what was written changes when it is written again";
	return NULL;
}

static const char *check(struct arena *mem, struct str text, bool *taken)
{
	struct value_error error;
	const struct value *v = value_parse(mem, text, &error), *again;
	struct str plain, canonical;
	const char *rule;

	if (!v)
		return error.why && error.offset <= text.n ? NULL :
							     "refused without a reason";
	*taken = true;
	if (error.why || error.offset != text.n || !utf8_valid(text))
		return "taken, but not all of it";
	plain = write_text(mem, v, false);
	canonical = write_text(mem, v, true);
	if ((rule = check_again(mem, plain, false)) ||
	    (rule = check_again(mem, canonical, true)))
		return rule;
	again = value_parse(mem, plain, &error);
	if (!str_eq(write_text(mem, again, true), canonical))
		return "one value has two canonical texts";
	return NULL;
}

int main(int argc, char **argv)
{
	return fuzz_run(argc, argv, corpus, COUNT(corpus), check);
}
