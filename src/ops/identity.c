#include "ops/identity.h"

#include "base/utf8.h"

enum { ID_MOST = 64 };

enum err identity_check(struct call *c, struct str *name)
{
	*name = str_trim(*name);
	if (!name->n)
		return call_fail(c, ERR_INVALID_IDENTITY, "the agent's name is empty");
	if (!utf8_valid(*name))
		return call_fail(c, ERR_INVALID_INPUT,
				 "the agent's name is not valid UTF-8");
	if (name->n > ID_MOST)
		return call_fail(c, ERR_INVALID_IDENTITY,
				 "the agent's name has %zu bytes; at most %d are allowed",
				 name->n, ID_MOST);
	if (utf8_has_control(*name))
		return call_fail(c, ERR_INVALID_IDENTITY,
				 "the agent's name contains a control character");
	return ERR_OK;
}
