#include "ops/ops.h"
#include "surface/docs.h"
#include "surface/face.h"
#include "surface/mcp.h"

#define AT(member) offsetof(struct globals, member)

static const struct field globals[] = {
	{ "json", &kind_bool, AT(json), .help = "print JSON" },
	{ "version", &kind_bool, AT(version), .help = "print the version" },
	{ "help", &kind_bool, AT(help), .letter = 'h', .help = "explain" },
	{ 0 },
};

static const struct command commands[] = {
	{ "mcp", &op_abacus_mcp, NULL, abacus_mcp_start, 0, NULL },
	{ "schema", &op_schema, NULL, NULL, 0, NULL },
	{ "completion", &op_completion, NULL, completion_start, 0, NULL },
	{ "man", &op_man, NULL, man_start, 0, NULL },
	{ "docs", &op_docs, NULL, docs_start, 0, NULL },
	{ 0 },
};

const struct face face_abacus = {
	.name = "abacus",
	.about = "shared work for agents and people; 'abacus bd …' is the same as 'bd …'",
	.more = "The one program behind all the others. It also tells what it knows of "
		"itself: "
		"schemas, completion, manuals.",
	.globals = globals,
	.commands = commands,
};
