/*
 * The file is TOML:
 *
 *	[summary]
 *	messages = "30m"
 *	artifacts = "1h"
 *
 * Other tables belong to other programs, but the whole file has to be TOML: a file that
 * cannot be parsed may have meant anything.
 */
#include "store/board/board_config.h"

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/toml.h"
#include "base/text/utf8.h"
#include "store/board/board_db.h"

/* Adds the file's name to a parser's message about one of its lines. */
static enum err board_config_unclear(struct call *c, struct str path)
{
	call_fail(c, ERR_INVALID_INPUT, "'.bb/config.toml', " STR_FMT, STR_ARG(c->message));
	return call_step(c, "Correct the line, or move '" STR_FMT "' away.", STR_ARG(path));
}

static enum err board_config_set(struct call *c, struct board_config *config, struct str key,
				 struct str value)
{
	int64_t *at = str_is(key, "messages")  ? &config->summary_messages :
		      str_is(key, "artifacts") ? &config->summary_artifacts :
						 NULL;

	if (!at)
		return call_fail(c, ERR_INVALID_INPUT,
				 "'.bb/config.toml' has an unknown key '" STR_FMT "'",
				 STR_ARG(key));
	if (*at >= 0)
		return call_fail(c, ERR_INVALID_INPUT, "'.bb/config.toml' sets '" STR_FMT "' twice",
				 STR_ARG(key));
	if (value.n > 2 && value.p[0] == '"' && value.p[value.n - 1] == '"' &&
	    duration_parse((struct str){ value.p + 1, value.n - 2 }, at))
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT,
			 "'.bb/config.toml': '" STR_FMT "' must be a duration such as \"30m\"",
			 STR_ARG(key));
}

/* Reads a line of the section; the subtables below it belong to other programs. */
static enum err board_config_read_line(struct call *c, struct board_config *config, struct str line,
				       bool *below)
{
	struct str key, value = line;

	str_next(&value, '#', &line); /* no valid value contains a '#' */
	line = str_trim(line);
	*below = *below || (line.n && line.p[0] == '[');
	if (!line.n || *below)
		return ERR_OK;
	value = line;
	str_next(&value, '=', &key);
	return board_config_set(c, config, str_trim(key), str_trim(value));
}

/* A file that is not UTF-8 cannot be TOML. */
static enum err find_section(struct call *c, struct str path, struct str *out)
{
	struct str text;
	enum err e = file_own_read(c, path, &text);

	*out = STR_NONE;
	if (e || !text.p)
		return e;
	if (!utf8_valid(text))
		e = call_fail(c, ERR_INVALID_INPUT, "it is not UTF-8 text");
	else
		e = toml_find(c, text, STR("summary"), out);
	return e ? board_config_unclear(c, path) : ERR_OK;
}

enum err board_config_read(struct call *c, struct board *b, struct board_config *out)
{
	struct str path = path_join(&c->mem, b->root, STR(".bb/config.toml")), text, line;
	bool below = false;
	enum err e = find_section(c, path, &text);

	*out = (struct board_config){ -1, -1 };
	while (!e && str_next(&text, '\n', &line))
		e = board_config_read_line(c, out, line, &below);
	if (out->summary_messages < 0)
		out->summary_messages = 30 * 60 * 1000;
	if (out->summary_artifacts < 0)
		out->summary_artifacts = 60 * 60 * 1000;
	return e;
}
