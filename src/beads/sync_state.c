#include "beads/sync_state.h"

#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/value.h"

static struct str sync_state_path_of(struct call *c, struct str home)
{
	return path_join(&c->mem, home, STR("sync.json"));
}

static struct journal_place sync_state_read_place(const struct value *v)
{
	struct journal_place p = { 0 };

	value_int(v, "segment", &p.segment);
	value_int(v, "offset", &p.offset);
	value_int(v, "last", &p.last);
	value_int(v, "crc", &p.crc);
	value_int(v, "first", &p.first);
	return p;
}

static void sync_state_put_place(struct json *j, const char *key, struct journal_place p)
{
	json_put_object(j, key);
	json_put_int(j, "segment", p.segment);
	json_put_int(j, "offset", p.offset);
	json_put_int(j, "last", p.last);
	json_put_int(j, "crc", p.crc);
	json_put_int(j, "first", p.first);
	json_end(j);
}

struct sync_state sync_state_read(struct call *c, struct str home)
{
	struct sync_state s = { 0 };
	const struct value *v;
	struct str text;

	if (file_own_read(c, sync_state_path_of(c, home), &text) || !text.p) {
		call_forgive(c);
		return s;
	}
	v = value_read(&c->mem, text);
	value_int(v, "tried_ms", &s.tried_ms);
	value_int(v, "succeeded_ms", &s.succeeded_ms);
	value_int(v, "pushed_ms", &s.pushed_ms);
	value_int(v, "failures", &s.failures);
	value_int(v, "not_before_ms", &s.not_before_ms);
	s.code = value_str(v, "code");
	s.message = value_str(v, "message");
	s.step = value_str(v, "step");
	s.warning = value_str(v, "warning");
	s.made = value_str(v, "made");
	s.made_upto = sync_state_read_place(value_find(v, "made_upto"));
	s.packed = value_str(v, "packed");
	s.packs = value_str(v, "packs");
	value_int(v, "packed_commits", &s.packed_commits);
	return s;
}

enum err sync_state_write(struct call *c, struct str home, const struct sync_state *s)
{
	struct json j = json_new(&c->mem);
	enum err e;

	json_object(&j);
	json_put_int(&j, "tried_ms", s->tried_ms);
	json_put_int(&j, "succeeded_ms", s->succeeded_ms);
	json_put_int(&j, "pushed_ms", s->pushed_ms);
	json_put_int(&j, "failures", s->failures);
	json_put_int(&j, "not_before_ms", s->not_before_ms);
	json_put_str(&j, "code", s->code);
	json_put_str(&j, "message", s->message);
	json_put_str(&j, "step", s->step);
	json_put_str(&j, "warning", s->warning);
	json_put_str(&j, "made", s->made);
	sync_state_put_place(&j, "made_upto", s->made_upto);
	json_put_str(&j, "packed", s->packed);
	json_put_str(&j, "packs", s->packs);
	json_put_int(&j, "packed_commits", s->packed_commits);
	json_end(&j);
	buf_char(&j.out, '\n');
	if ((e = file_remove_leftovers(c, sync_state_path_of(c, home))))
		return e;
	return file_own_replace(c, sync_state_path_of(c, home), buf_str(&j.out), 0600);
}
