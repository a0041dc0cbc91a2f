/* Local acts in the records of reservations and protocol events. */
#include "agents/reservation.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "machines/collect.h"

/* What a line says about a reservation. */
struct collect_holding {
	int state;
	int64_t expires_ms;
	struct str id, scope; /* only of `before` */
};

struct collect_book {
	struct map last;               /* by reservation: struct collect_holding of its last line */
	struct collect_holding before; /* the line before the present one */
	struct arena text;             /* of `before` */
};

static bool collect_ends(int state)
{
	return state == RESERVATION_RELEASED || state == RESERVATION_EXPIRED;
}

static int collect_state(const struct value *v)
{
	return names_exact(&reservation_states, value_str(v, "state"));
}

static void collect_last_line(struct collecting *k, struct agent_files *f, const struct value *v,
			      void *arg)
{
	struct collect_book *book = arg;
	struct str id = value_str(v, "reservation_id");
	void **at = map_find(&book->last, id);
	struct collect_holding *last;

	(void)f;
	if (!at) {
		at = map_put(&book->last, arena_copy(&k->c->mem, id));
		*at = arena_new(&k->c->mem, struct collect_holding);
	}
	last = *at;
	last->state = collect_state(v);
	last->expires_ms = value_moment(v, "expires_at");
}

/* `takes` is the reservation that this one has taken over; or absent. */
static void collect_made(struct collecting *k, const struct value *v, struct str takes)
{
	struct json j = json_new(&k->c->mem);

	json_object(&j);
	json_put_str(&j, "id", value_str(v, "reservation_id"));
	json_put_str(&j, "agent", value_str(v, "agent_id"));
	json_put_str(&j, "bead", value_str(v, "bead_id"));
	json_put_str(&j, "scope", value_str(v, "scope"));
	json_put_int(&j, "created", value_moment(v, "created_at"));
	json_put_int(&j, "expires", value_moment(v, "expires_at"));
	json_put_int(&j, "epoch", value_count(v, "epoch"));
	json_put_filled(&j, "takes", takes);
	json_end(&j);
	collect_add(k, FACT_RESERVATION_MADE, value_moment(v, "created_at"),
		    value_str(v, "agent_id"), &j);
}

static void collect_ended(struct collecting *k, const struct value *v, bool released)
{
	struct json j = json_new(&k->c->mem);
	int64_t when = value_moment(v, released ? "released_at" : "expires_at");

	json_object(&j);
	json_put_str(&j, "id", value_str(v, "reservation_id"));
	json_put_int(&j, "when", when);
	json_end(&j);
	collect_add(k, released ? FACT_RESERVATION_RELEASED : FACT_RESERVATION_EXPIRED, when,
		    value_str(v, "agent_id"), &j);
}

/* A takeover writes the end of the old reservation right before the new one of the same scope. */
static struct str collect_taken(const struct collect_holding *before, const struct value *v)
{
	return before->id.p && before->state == RESERVATION_EXPIRED &&
			       str_eq(before->scope, value_str(v, "scope")) &&
			       !str_eq(before->id, value_str(v, "reservation_id")) ?
		       before->id :
		       STR_NONE;
}

/* Called after the line, whose memory is freed next. */
static void collect_remember(struct collect_book *book, const struct value *v)
{
	arena_reset(&book->text);
	book->before = (struct collect_holding){
		.state = collect_state(v),
		.id = arena_copy(&book->text, value_str(v, "reservation_id")),
		.scope = arena_copy(&book->text, value_str(v, "scope")),
	};
}

static bool collect_holding_is_old(const struct collecting *k, const struct collect_book *book,
				   struct str id)
{
	void **at = map_find(&book->last, id);
	const struct collect_holding *last = at ? *at : NULL;

	return last && collect_ends(last->state) && last->expires_ms < k->since_ms;
}

static void collect_reservation(struct collecting *k, struct agent_files *f, const struct value *v,
				void *arg)
{
	struct collect_book *book = arg;
	int state = collect_state(v);

	(void)f;
	if (collect_is_local(v) && state >= 0 &&
	    !collect_holding_is_old(k, book, value_str(v, "reservation_id"))) {
		k->m->reserved = true;
		if (state == RESERVATION_ACTIVE)
			collect_made(k, v, collect_taken(&book->before, v));
		else if (collect_ends(state))
			collect_ended(k, v, state == RESERVATION_RELEASED);
	}
	collect_remember(book, v);
}

/* Two passes: the first finds the last state of each reservation. */
enum err collect_reservations(struct collecting *k, struct agent_files *f)
{
	struct str file = STR("reservations/history.jsonl");
	struct collect_book book = { .last.mem = &k->c->mem };
	int64_t from, size;
	enum err e;

	if ((e = collect_place(k, file, &from)) || (e = agent_file_size(k->c, f, file, &size)) ||
	    from == size)
		return e;
	if ((e = collect_lines(k, f, file, collect_last_line, &book)) ||
	    (e = collect_set_place(k, file, from)))
		return e;
	e = collect_lines(k, f, file, collect_reservation, &book);
	arena_release(&book.text);
	return e;
}

/* --- events --- */

static void collect_event(struct collecting *k, struct agent_files *f, const struct value *v,
			  void *arg)
{
	struct json j = json_new(&k->c->mem);
	int64_t created = value_moment(v, "created_at");

	(void)f, (void)arg;
	if (!collect_is_local(v) || created < k->since_ms || v->type != VALUE_OBJECT)
		return;
	json_object(&j);
	VALUE_EACH(one, v)
		if (!str_is(one->key, "project_root"))
			json_put_member(&j, one);
	json_end(&j);
	collect_add(k, FACT_EVENT, created, value_str(v, "from_agent"), &j);
}

enum err collect_events(struct collecting *k, struct agent_files *f)
{
	return collect_lines(k, f, STR("events.jsonl"), collect_event, NULL);
}
