#include "beads/model/stamp.h"

#include "base/moment.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/limits.h"

#define MOST \
	(INT64_C(1) << 53) /* 2^53 - 1, the largest integer that every JSON reader can represent */

const struct stamp stamp_last = { MOMENT_LAST, MOST - 1 }, stamp_end = { MOMENT_LAST + 1, 0 };

bool stamp_valid(struct stamp s)
{
	return s.ms >= 0 && s.ms <= MOMENT_LAST && s.n >= 0 && s.n < MOST;
}

int stamp_cmp(struct stamp a, struct stamp b)
{
	if (a.ms != b.ms)
		return a.ms < b.ms ? -1 : 1;
	return (a.n > b.n) - (a.n < b.n);
}

int mark_cmp(struct mark a, struct mark b)
{
	int order;

	if (!a.by.p || !b.by.p)
		return (a.by.p != NULL) - (b.by.p != NULL);
	order = stamp_cmp(a.at, b.at);
	return order ? order : str_cmp(a.by, b.by);
}

struct mark mark_max(struct mark a, struct mark b)
{
	return mark_cmp(a, b) < 0 ? b : a;
}

struct stamp stamp_next(struct stamp last, int64_t now_ms)
{
	if (now_ms > last.ms)
		return (struct stamp){ now_ms, 0 };
	if (last.n + 1 < MOST)
		return (struct stamp){ last.ms, last.n + 1 };
	return last.ms < MOMENT_LAST ? (struct stamp){ last.ms + 1, 0 } : stamp_end;
}

struct mark mark_within(struct mark m, int64_t horizon_ms)
{
	if (m.at.ms > horizon_ms)
		m.at = (struct stamp){ 0 };
	return m;
}

bool stamp_has_later(struct stamp s)
{
	return stamp_cmp(s, stamp_last) < 0;
}

void stamp_encode(struct json *j, struct stamp s)
{
	json_array(j);
	json_int(j, s.ms);
	json_int(j, s.n);
	json_end(j);
}

static bool count_decode(const struct value *v, int64_t most, int64_t *out)
{
	return v->type == VALUE_NUMBER && number_int(v->text, out) && *out >= 0 && *out <= most;
}

bool stamp_decode(const struct value *v, struct stamp *out)
{
	return v && v->type == VALUE_ARRAY && v->count == 2 &&
	       count_decode(&v->item[0], MOMENT_LAST, &out->ms) &&
	       count_decode(&v->item[1], MOST - 1, &out->n);
}

bool stamp_decode_deletion(const struct value *v, struct stamp *out)
{
	return stamp_decode(v, out) ||
	       (v && v->type == VALUE_ARRAY && v->count == 2 &&
		count_decode(&v->item[0], stamp_end.ms, &out->ms) &&
		count_decode(&v->item[1], stamp_end.n, &out->n) && !stamp_cmp(*out, stamp_end));
}

void mark_encode(struct json *j, struct mark m)
{
	json_array(j);
	stamp_encode(j, m.at);
	json_str(j, m.by);
	json_end(j);
}

bool mark_decode(const struct value *v, struct mark *out)
{
	if (!v || v->type != VALUE_ARRAY || v->count != 2 || !stamp_decode(&v->item[0], &out->at) ||
	    v->item[1].type != VALUE_STRING || !v->item[1].text.n || v->item[1].text.n > LIMIT_NAME)
		return false;
	out->by = v->item[1].text;
	return true;
}
