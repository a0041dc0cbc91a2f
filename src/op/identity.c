#include "op/identity.h"

#include "base/text/utf8.h"

enum err identity_check(struct call *c, struct str *name, size_t most)
{
	*name = str_trim(*name);
	if (!name->n)
		return call_fail(c, ERR_INVALID_IDENTITY, "the agent's name is empty");
	if (!utf8_valid(*name))
		return call_fail(c, ERR_INVALID_INPUT, "the agent's name is not valid UTF-8");
	if (name->n > most)
		return call_fail(c, ERR_INVALID_IDENTITY,
				 "the agent's name has %zu bytes; at most %zu are allowed", name->n,
				 most);
	if (utf8_has_control(*name))
		return call_fail(c, ERR_INVALID_IDENTITY,
				 "the agent's name contains a control character");
	return ERR_OK;
}
