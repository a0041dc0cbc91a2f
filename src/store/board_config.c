/*
 * The file is TOML of the plainest sort:
 *
 *	[summary]
 *	messages = "30m"
 *	artifacts = "1h"
 */
#include "store/board_config.h"

#include "base/file.h"
#include "base/moment.h"
#include "base/path.h"
#include "store/board_db.h"

static enum err unclear(struct call *c, struct str line)
{
	return call_fail(c, ERR_INVALID_INPUT,
			 "'.bb/config.toml' cannot be understood at '" STR_FMT "'",
			 STR_ARG(line));
}

static enum err set(struct call *c, struct board_config *config, struct str key,
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
		return call_fail(c, ERR_INVALID_INPUT,
				 "'.bb/config.toml' sets '" STR_FMT "' twice",
				 STR_ARG(key));
	if (value.n > 2 && value.p[0] == '"' && value.p[value.n - 1] == '"' &&
	    duration_parse((struct str){ value.p + 1, value.n - 2 }, at))
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT,
			 "'.bb/config.toml': '" STR_FMT
			 "' must be a duration such as \"30m\"",
			 STR_ARG(key));
}

static enum err read_line(struct call *c, struct board_config *config, struct str line,
			  bool *summary)
{
	struct str key, value;

	value = line;
	str_next(&value, '#', &line); /* no value that counts has one inside */
	line = str_trim(line);
	if (!line.n)
		return ERR_OK;
	if (line.p[0] == '[') {
		*summary = str_is(line, "[summary]");
		return str_ends(line, STR("]")) ? ERR_OK : unclear(c, line);
	}
	if (!*summary)
		return ERR_OK;
	value = line;
	str_next(&value, '=', &key);
	return set(c, config, str_trim(key), str_trim(value));
}

enum err board_config_read(struct call *c, struct board *b, struct board_config *out)
{
	struct str text, line;
	bool summary = false;
	enum err e = file_own_read(c, path_join(&c->mem, b->root, STR(".bb/config.toml")),
				   &text);

	*out = (struct board_config){ -1, -1 };
	while (!e && str_next(&text, '\n', &line))
		e = read_line(c, out, line, &summary);
	if (out->summary_messages < 0)
		out->summary_messages = 30 * 60 * 1000;
	if (out->summary_artifacts < 0)
		out->summary_artifacts = 60 * 60 * 1000;
	return e;
}
