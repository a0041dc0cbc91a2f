#include "live/feed_sources.h"

#include "base/moment.h"
#include "base/system/path.h"
#include "base/system/watch.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "live/feed.h"
#include "live/feed_round.h"
#include "store/agent_files.h"
#include "store/board/board_db.h"

struct source *source_of(struct sources *s, struct str name)
{
	void **at = map_find(&s->known, name);

	if (at)
		return *at;
	s->known.mem = &s->mem;
	at = map_put(&s->known, arena_copy(&s->mem, name));
	*at = arena_new(&s->mem, struct source);
	return *at;
}

void source_put_place(struct json *j, const struct source *source)
{
	int count = PLACE_NUMBERS;

	while (count > 1 && !source->at[count - 1])
		count--;
	json_array(j);
	for (int i = 0; i < count; i++)
		json_int(j, source->at[i]);
	json_end(j);
}

static void source_read_place(const struct value *v, struct source *out)
{
	*out = (struct source){ 0 };
	for (size_t i = 0; v && v->type == VALUE_ARRAY && i < v->count; i++)
		if (i < PLACE_NUMBERS)
			value_number(&v->item[i], &out->at[i]);
}

void sources_encode(struct json *j, const struct sources *s)
{
	for (size_t i = 0; i < s->known.count; i++) {
		json_key(j, s->known.entry[i].key);
		source_put_place(j, s->known.entry[i].value);
	}
}

void sources_decode(struct sources *s, const struct value *v)
{
	VALUE_EACH(one, v)
		source_read_place(one, source_of(s, one->key));
}

void sources_learn(struct call *c, struct sources *s, struct str data)
{
	const struct value *from = value_find(value_read(&c->mem, data), "from");

	if (value_str(from, "source").p)
		source_read_place(value_find(from, "to"), source_of(s, value_str(from, "source")));
}

struct sources sources_copy(struct arena *mem, const struct sources *s)
{
	struct sources copy = { .known.mem = mem };

	for (size_t i = 0; i < s->known.count; i++) {
		struct source *one = arena_new(mem, struct source);

		*one = *(const struct source *)s->known.entry[i].value;
		*map_put(&copy.known, s->known.entry[i].key) = one;
	}
	return copy;
}

void sources_restore(struct sources *s, const struct sources *copy)
{
	for (size_t i = 0; i < copy->known.count; i++)
		*source_of(s, copy->known.entry[i].key) =
			*(const struct source *)copy->known.entry[i].value;
}

enum { LOOK_MS = 1000 }; /* interval at which last_seen_at and statuses are compared */

void sources_collect(struct call *c, struct sources *s, source_tell *tell, void *arg)
{
	struct feed_round t = { .c = c, .s = s, .tell = tell, .arg = arg };
	int64_t now = moment_ticks();
	bool first = !s->begun, look = first || now - s->looked_ms >= LOOK_MS;

	if (look)
		s->looked_ms = now;
	s->begun = true;
	feed_collect_beads(&t);
	feed_collect_agents(&t, look, first);
	feed_collect_board(&t, look, first);
	feed_collect_events(&t);
	call_forgive(c);
}

void sources_begin(struct call *c, struct sources *s)
{
	sources_collect(c, s, NULL, NULL);
}

enum err feed_watched(struct call *c, struct watch_at at[FEED_WATCHED])
{
	static const char *const folders[] = { "", "messages", "reservations", "agents" };
	struct agent_files f;
	struct beads b;
	struct str board;

	for (int i = 0; i < FEED_WATCHED; i++)
		at[i] = (struct watch_at){ .head = STR("") };
	if (!agent_files_open(c, AGENTS_READ, &f) && f.home.p)
		for (int i = 0; i < 4; i++)
			at[i].dir = path_join(&c->mem, f.home, str_of(folders[i]));
	if (!beads_home(c, &b))
		at[4].dir = b.home;
	if (!place_find(c, STR(".bb"), &board) && board.p && !board_check(c, board))
		at[5].dir = path_join(&c->mem, board, STR(".bb"));
	return call_forgive(c);
}
