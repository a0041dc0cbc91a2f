#include "op/identity.h"

#include "base/text/utf8.h"

enum err identity_check(struct call *c, struct str *name, size_t most)
{
	*name = str_trim(*name);
	if (!utf8_valid(*name))
		return call_fail(c, ERR_INVALID_INPUT, "the agent's name is not valid UTF-8");
	if (!name->n)
		call_fail(c, ERR_INVALID_IDENTITY, "the agent's name is empty");
	else if (name->n > most)
		call_fail(c, ERR_INVALID_IDENTITY,
			  "the agent's name has %zu bytes; at most %zu are allowed", name->n, most);
	else if (utf8_has_control(*name))
		call_fail(c, ERR_INVALID_IDENTITY, "the agent's name contains a control character");
	else
		return ERR_OK;
	return call_step(c, "Use 1 to %zu bytes of text without control characters.", most);
}
