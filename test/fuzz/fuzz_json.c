/* Whatever the parser accepts can be written and read again, and stays the same. */
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "fuzz.h"

static struct str write_text(struct arena *mem, const struct value *v, bool canonical)
{
	struct json j = json_new(mem);

	if (canonical)
		json_canonical(&j, v);
	else
		json_value(&j, v);
	return json_text(&j);
}

static void check_again(struct arena *mem, struct str text, bool canonical)
{
	const struct value *v = value_read(mem, text);

	rule(v, "the text that was written is valid");
	rule(str_eq(write_text(mem, v, canonical), text),
	     "a text that was written is written the same again");
}

static void check_value(struct arena *mem, struct str text, const struct value *v)
{
	struct str plain = write_text(mem, v, false), canonical = write_text(mem, v, true);

	rule(utf8_valid(text), "a text that is accepted is UTF-8");
	check_again(mem, plain, false);
	check_again(mem, canonical, true);
	rule(str_eq(write_text(mem, value_read(mem, plain), true), canonical),
	     "one value has one canonical text");
	rule(value_depth(v) <= VALUE_DEPTH, "the depth is bounded");
	for (size_t i = 0; v->type == VALUE_OBJECT && i < v->count; i++)
		rule(value_member(v, v->item[i].key) == &v->item[i],
		     "every member is found by its key");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena mem = { 0 };
	struct str text = fuzz_text(data, size);
	struct value_error error;
	const struct value *v = value_parse(&mem, text, &error);

	rule(v ? !error.why && error.offset == size : error.why && error.offset <= size,
	     "a text is accepted as a whole, or refused with a reason and a place");
	if (v)
		check_value(&mem, text, v);
	rule(!value_parse_bounded(&mem, text, 3, &error) || v,
	     "a bound on the values accepts nothing else");
	arena_release(&mem);
	return 0;
}
