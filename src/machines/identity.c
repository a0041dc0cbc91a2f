#include "machines/identity.h"

#include <unistd.h>

#include "base/id.h"
#include "base/sign.h"
#include "base/system/file.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "machines/log.h"
#include "machines/share.h"

enum {
	NAME_MOST = 40,
	NAMES_RESERVED = 10, /* earlier names of a machine that are reserved for it */
};

bool identity_name_valid(struct str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char ch = name.p[i];

		if (!((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
		      (ch >= '0' && ch <= '9') || (i && (ch == '-' || ch == '.'))))
			return false;
	}
	return name.n && name.n <= NAME_MOST;
}

enum err identity_check_name(struct call *c, struct str name)
{
	if (identity_name_valid(name))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' can't be the name of a machine",
		  STR_ARG(name));
	return call_step(c, "Use 1 to 40 letters, digits, dots and dashes, for example: laptop");
}

/* The name of this computer, as a machine may be called. */
static struct str identity_host(struct call *c)
{
	char host[256] = "";
	char *p = arena_text(&c->mem, sizeof host);
	size_t n = 0;

	if (gethostname(host, sizeof host - 1))
		host[0] = '\0';
	for (size_t i = 0; host[i] && host[i] != '.' && n < NAME_MOST; i++)
		if (identity_name_valid((struct str){ &host[i], 1 }) || (n && host[i] == '-'))
			p[n++] = host[i];
	return n ? (struct str){ p, n } : STR("machine");
}

static enum err identity_make(struct call *c, struct str home, struct identity *out)
{
	struct sign_key key = sign_key_new(&c->mem);
	struct json j = json_new(&c->mem);

	out->self.id = id_random(&c->mem, LOG_ID);
	out->self.key = key.public;
	out->secret = key.secret;
	json_object(&j);
	json_put_str(&j, "key", key.public);
	json_put_str(&j, "machine", out->self.id);
	json_put_str(&j, "secret", key.secret);
	json_end(&j);
	buf_char(&j.out, '\n');
	return file_own_replace(c, share_file(c, home, "key"), buf_str(&j.out), 0600);
}

static enum err identity_store(struct call *c, struct machine_db *db,
			       const struct machine_self *self)
{
	enum err e = machine_db_begin(c, db);

	if (e || (e = machine_self_put(c, db, self)))
		return e;
	return machine_db_commit(c, db);
}

static enum err identity_read(struct call *c, struct str home, struct identity *out)
{
	struct str text;
	const struct value *v;
	enum err e = file_own_read(c, share_file(c, home, "key"), &text);

	if (e)
		return e;
	v = text.p ? value_read(&c->mem, text) : NULL;
	if (str_eq(value_str(v, "machine"), out->self.id) &&
	    str_eq(value_str(v, "key"), out->self.key)) {
		out->secret = value_str(v, "secret");
		return ERR_OK;
	}
	call_fail(c, ERR_DAMAGED, "'" STR_FMT "' is not the private key of this machine",
		  STR_ARG(share_file(c, home, "key")));
	return call_step(c,
			 "Restore the file from a backup. Without it, move the folder '" STR_FMT
			 "' away and run 'abacus share on', which makes a new identity.",
			 STR_ARG(home));
}

enum err identity_open(struct call *c, struct str home, struct machine_db *db, struct identity *out)
{
	enum err e = machine_self_find(c, db, &out->self);

	if (e || out->self.id.p)
		return e ? e : identity_read(c, home, out);
	out->self.name = identity_host(c);
	if ((e = identity_make(c, home, out)))
		return e;
	return identity_store(c, db, &out->self);
}

enum err identity_renew(struct call *c, struct str home, struct machine_db *db,
			struct identity *out)
{
	struct str old = out->self.id;
	enum err e = identity_make(c, home, out);

	if (e || (e = machine_db_begin(c, db)) ||
	    (e = fact_row_rename(c, db, old, out->self.id, out->self.sent)))
		return e;
	out->self.sent = 0;
	out->self.commit = STR_NONE;
	out->self.dirty = true;
	if ((e = machine_self_put(c, db, &out->self)))
		return e;
	return machine_db_commit(c, db);
}

static struct str identity_plain(const struct machine_row *r)
{
	return r->nick.p ? r->nick : r->name.p ? r->name : r->id;
}

/* Has another machine a better right to this name than `one`? */
static bool identity_taken(const struct machine_row *rows, struct str own, struct str name,
			   const struct machine_row *one)
{
	bool before = true;

	for (; rows; rows = rows->next) {
		if (str_eq(rows->id, one->id))
			before = false;
		else if (str_eq(rows->id, name) ||
			 (str_eq(identity_plain(rows), name) &&
			  (!rows->nick.p == !one->nick.p ? before : !!rows->nick.p)))
			return true;
	}
	return str_eq(name, own);
}

struct str identity_shown(struct call *c, const struct machine_row *rows, struct str own,
			  const struct machine_row *one)
{
	struct str name = identity_plain(one);

	if (!identity_taken(rows, own, name, one))
		return name;
	name = arena_fmt(&c->mem, STR_FMT "-%.4s", STR_ARG(name), one->id.p);
	return identity_taken(rows, own, name, one) ? one->id : name;
}

enum err identity_claim(struct call *c, struct machine_db *db, const struct machine_row *rows,
			const struct machine_row *one, struct str name, struct str *out)
{
	struct value_row *had;
	bool taken = false;
	enum err e = ERR_OK;

	*out = STR_NONE;
	if (!identity_name_valid(name) || (e = value_row_with(c, db, STR("had name"), name, &had)))
		return e;
	for (; had; had = had->next)
		taken = taken || (str_eq(had->key, name) && !str_eq(had->value, one->id));
	for (const struct machine_row *r = rows; r; r = r->next)
		taken = taken ||
			(!str_eq(r->id, one->id) &&
			 (str_eq(r->name, name) || str_eq(r->nick, name) || str_eq(r->id, name)));
	*out = taken ? arena_fmt(&c->mem, STR_FMT "-%.4s", STR_ARG(name), one->id.p) : name;
	return ERR_OK;
}

enum err identity_reserve(struct call *c, struct machine_db *db, const struct machine_row *one,
			  struct str name)
{
	struct value_row *had;
	int count = 0;
	enum err e = value_row_with(c, db, STR("had name"), one->id, &had);

	for (; !e && had; had = had->next)
		count++;
	if (e || count >= NAMES_RESERVED)
		return e;
	return value_row_put(c, db, STR("had name"), name, one->id);
}

const struct machine_row *identity_named(struct call *c, const struct machine_row *rows,
					 struct str own, struct str name)
{
	const struct machine_row *found = NULL;

	for (const struct machine_row *r = rows; r; r = r->next)
		if (str_eq(r->id, name))
			return r;
	for (const struct machine_row *r = rows; r; r = r->next)
		if (str_eq(identity_shown(c, rows, own, r), name))
			return r;
	for (const struct machine_row *r = rows; r && name.n >= 4; r = r->next)
		if (str_starts(r->id, name)) {
			if (found)
				return NULL;
			found = r;
		}
	return found;
}
