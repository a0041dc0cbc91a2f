/*
 * Command lines of all programs: each is understood or refused with a message and a next step,
 * and the parameters that were understood can be written as JSON. The input is the program's name
 * and its arguments, each in a line.
 */
#include "base/text/json.h"
#include "base/text/value.h"
#include "fuzz.h"
#include "surface/cli/args.h"

enum { ARGUMENTS = 64 };

static void check_request(struct call *c, const struct request *r)
{
	const struct field *fields = r->op->fields;

	for (size_t i = 0; fields && fields[i].name; i++) {
		struct json j = json_new(&c->mem);

		if (!(r->given >> i & 1))
			continue;
		field_to_json(&j, &fields[i], r->body);
		rule(value_read(&c->mem, json_text(&j)),
		     "a parameter that is understood can be written as JSON");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size), line = { "", 0 };
	struct call c = fuzz_call();
	char *argv[ARGUMENTS + 1] = { 0 };
	const struct face *face;
	struct args args;
	size_t count = 0;

	if (text.n)
		str_next(&text, '\n', &line);
	face = face_find(line) ? face_find(line) : &face_bb;
	while (count < ARGUMENTS && text.n && str_next(&text, '\n', &line))
		argv[count++] = (char *)arena_cstr(&c.mem, line);
	if (args_parse(&c, face, argv, &args))
		rule(c.message.n && call_next_step(&c).n,
		     "a command line is refused with a message and a next step");
	else if (args.command && !args.globals.help && !args.globals.version)
		check_request(&c, &args.request);
	call_release(&c);
	return 0;
}
