/*
 * Every round arms a watch on the stores, reads the newest acts, prints those that the round before
 * did not have, and sleeps until something changes.
 */
#include "surface/cli/follow.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/moment.h"
#include "base/system/watch.h"
#include "base/text/json.h"
#include "live/feed.h"
#include "op/op.h"
#include "store/db/db.h"
#include "surface/cli/out.h"
#include "surface/cli/screen.h"
#include "surface/cli/stopping.h"
#include "surface/view/log_view.h"
#include "surface/view/view.h"

enum {
	LOOK_MS = 5000, /* a store that did not exist may be there now */
	PAUSE_MS = 100, /* wait for further changes, to print them in their order */
	WINDOW = 300,   /* acts that a round reads */
};

struct follow {
	struct request first, later; /* with the limit of the user; with that of a round */
	bool json;
	struct arena mem;  /* of `known` */
	struct map known;  /* by id: the acts of the last round */
	struct str oldest; /* the time of the first of them, if there were more before it */
	struct log_columns columns;
	bool begun, gone; /* the reader of the output has ended */
};

static int64_t follow_limit(const struct request *r)
{
	return *(const int64_t *)request_value(r, ROLE_LIMIT);
}

/*
 * Is the act new since the last round? An act that is older than that round's window is not: it is
 * listed now only because later acts were removed.
 */
static bool follow_is_new(const struct follow *f, const struct value *act)
{
	return !map_find(&f->known, value_str(act, "id")) &&
	       (!f->oldest.p || str_cmp(value_str(act, "at"), f->oldest) >= 0);
}

static void follow_learn(struct follow *f, const struct value *acts)
{
	arena_release(&f->mem);
	f->known = (struct map){ .mem = &f->mem };
	f->oldest = STR_NONE;
	VALUE_EACH(one, acts)
		map_put(&f->known, arena_copy(&f->mem, value_str(one, "id")));
	if (acts->count && (int64_t)acts->count >= follow_limit(&f->later))
		f->oldest = arena_copy(&f->mem, value_str(&acts->item[0], "at"));
}

static void follow_put(struct follow *f, struct call *c, struct view *v, const struct value *act)
{
	struct json j = json_new(&c->mem);

	log_columns_fit(&f->columns, act);
	if (!f->json) {
		view_act(v, &f->columns, act);
		return;
	}
	json_value(&j, act);
	buf_char(&j.out, '\n');
	f->gone = f->gone || out_json(&c->mem, buf_str(&j.out), 0);
}

static void follow_print(struct follow *f, struct call *c, const struct value *acts)
{
	struct view v = screen_view(c);
	size_t most = (size_t)follow_limit(&f->first),
	       from = !f->begun && acts->count > most ? acts->count - most : 0;

	v.asked = &f->first;
	for (size_t i = from; i < acts->count; i++)
		if (!f->begun)
			log_columns_fit(&f->columns, &acts->item[i]);
	for (size_t i = from; i < acts->count; i++)
		if (!f->begun || follow_is_new(f, &acts->item[i]))
			follow_put(f, c, &v, &acts->item[i]);
	if (v.out.n && out_view(&v, 0))
		f->gone = true;
	follow_learn(f, acts);
	f->begun = true;
}

static enum err follow_read(struct follow *f, struct call *c)
{
	struct json reply = json_new(&c->mem);
	struct view clean = { .out.mem = &c->mem };
	const struct value *acts;
	enum err e = request_run(c, &f->later, &reply);

	if (e)
		return e;
	acts = f->json ? value_read(&c->mem, json_text(&reply)) :
			 view_parse(&clean, json_text(&reply));
	if (!acts)
		return call_fail(c, ERR_DAMAGED,
				 "the stored data is damaged: the reply is not JSON");
	follow_print(f, c, acts);
	return ERR_OK;
}

/* The end of a pipe whose reader goes is readable; a terminal would be when a key is pressed. */
static int follow_pipe(void)
{
	struct stat found;

	return !fstat(STDOUT_FILENO, &found) && S_ISFIFO(found.st_mode) ? STDOUT_FILENO : -1;
}

static enum err follow_round(const struct call *start, struct follow *f, struct call *c)
{
	struct watch_at at[FEED_WATCHED];
	enum watch_end end;
	AUTO_WATCH w;
	enum err e;

	*c = call_part(start);
	if (!c->still)
		c->now_ms = moment_now();
	feed_watched(c, at);
	watch_open(&w, &c->mem, at, FEED_WATCHED);
	if ((e = follow_read(f, c)) || f->gone)
		return e;
	end = watch_wait(&w, LOOK_MS, follow_pipe());
	if (end == WATCH_CHANGED)
		end = watch_wait(&w, PAUSE_MS, follow_pipe());
	f->gone = end == WATCH_INPUT && !stopping() && follow_pipe() >= 0;
	return ERR_OK;
}

int follow_log(struct call *c, const struct request *r, bool json)
{
	struct follow f = { .first = *r, .later = *r, .json = json, .columns.clock = true };
	enum err e = ERR_OK;

	f.later.body = arena_alloc(&c->mem, r->op->body_size);
	memcpy(f.later.body, r->body, r->op->body_size);
	if (follow_limit(r) < WINDOW &&
	    request_set_role(c, &f.later, ROLE_LIMIT, arena_fmt(&c->mem, "%d", WINDOW)))
		return -1;
	db_keep();
	stopping_hold();
	while (!e && !f.gone && !stopping()) {
		struct call part;

		e = follow_round(c, &f, &part);
		if (f.begun && err_retryable(e))
			e = call_forgive(&part); /* another program is writing */
		e = call_part_end(c, &part, e);
	}
	arena_release(&f.mem);
	return e ? -1 : 0;
}
