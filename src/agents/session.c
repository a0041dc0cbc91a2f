#include "agents/session.h"

#include "agents/receipts.h"
#include "base/hash.h"
#include "base/system/path.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "store/db/bead_query.h"
#include "store/git/git_tool.h"
#include "store/place.h"

/* The evidence, gathered once for all agents. */
struct scene {
	const struct session_filter *filter;
	struct str scope;          /* the filter's, normalised; absent: none */
	struct git_path *changed;  /* changed files, as normalised scopes */
	struct bead_row *progress; /* all claimed beads */
	struct reservation *held;  /* active reservations, and expired ones of free scopes */
};

/* Without a repository or a `git` there are no uncommitted files. Git gets only a few seconds to
 * list them. */
static void session_see_files(struct call *c, const struct agent_files *f, struct scene *s)
{
	struct str dir = c->project.p ? path_resolve(&c->mem, c->dir, c->project) : c->dir;
	struct repository repo;
	struct str tree, path;

	enum err e;

	if ((e = place_repository(c, dir, &repo)) || !repo.tree.p ||
	    (e = place_tree(c, f->root, &tree)) || (e = git_changed(c, repo.tree, &s->changed))) {
		if (e == ERR_QUERY_TIMEOUT)
			call_warn(c, "changed files were not considered: " STR_FMT,
				  STR_ARG(c->message));
		call_forgive(c);
		return;
	}
	for (struct git_path *p = s->changed; p; p = p->next) {
		path = path_join(&c->mem, repo.tree, p->path);
		p->path = path_within(tree, path) && path.n > tree.n ?
				  path_resolve(&c->mem, STR("/"), str_skip(path, tree.n + 1)) :
				  STR("/");
		p->path = str_skip(p->path, 1);
	}
}

/* Without a store of beads none are claimed. A store that cannot be read is an error. */
static enum err session_see_beads(struct call *c, struct scene *s)
{
	struct bead_filter filter = { .claimed = true, .now = c->now_ms, .lean = true };
	struct beads b;
	enum err e = beads_open(c, BEADS_READ, &b);

	if (e == ERR_NOT_A_REPOSITORY || e == ERR_NOT_INITIALIZED)
		return call_forgive(c);
	if (e)
		return e;
	if (b.damaged) { /* the damaged part may have a claim */
		call_fail(c, ERR_JOURNAL_LOST,
			  "the journal of the beads is damaged, so claims can't be checked");
		call_step(c, "Run 'bd repair --apply', then run the command again.");
		e = c->code;
	} else {
		e = query_each(c, &b.cache, &filter, &s->progress);
	}
	beads_close(&b);
	return e;
}

static enum err session_see_scopes(struct call *c, struct agent_files *f, struct scene *s)
{
	struct reservation **tail = &s->held;
	enum err e = reservation_each_held(c, f, STR_NONE, STR_NONE, tail);

	while (!e && *tail)
		tail = &(*tail)->next;
	return e ? e : reservation_each_lapsed(c, f, tail);
}

/* `asked` may lack the prefix of the id; absent: any bead. */
static bool is_bead(struct str id, struct str asked)
{
	return !asked.p || str_eq(id, asked) ||
	       (id.n > asked.n && str_ends(id, asked) && id.p[id.n - asked.n - 1] == '-');
}

static bool find_files(struct call *c, const struct scene *s, struct evidence *e)
{
	for (const struct reservation *r = s->held; r; r = r->next) {
		const struct git_path *first = NULL;
		size_t count = 0;

		if (!str_eq(r->agent, e->agent->id) || !is_bead(r->bead, s->filter->bead))
			continue;
		for (const struct git_path *p = s->changed; p; p = p->next)
			if (scope_overlap(r->key, p->path) &&
			    (!s->scope.p || scope_overlap(s->scope, p->path))) {
				first = first ? first : p;
				count++;
			}
		if (!count)
			continue;
		e->reason = RESUME_UNCOMMITTED;
		e->scope = r->scope;
		e->bead = r->bead;
		e->text = arena_fmt(
			&c->mem,
			"%zu changed file%s in its scope '" STR_FMT "', such as '" STR_FMT "'",
			count, count == 1 ? "" : "s", STR_ARG(r->scope), STR_ARG(first->path));
		return true;
	}
	return false;
}

/* Whether the agent has reserved a part of the filter's scope for the bead. */
static bool is_about(const struct scene *s, struct str agent, struct str bead)
{
	const struct reservation *r = s->held;

	while (r && (!str_eq(r->agent, agent) || !is_bead(bead, r->bead) ||
		     !scope_overlap(s->scope, r->key)))
		r = r->next;
	return r;
}

static bool find_beads_of(struct call *c, const struct scene *s, struct evidence *e)
{
	for (const struct bead_row *row = s->progress; row; row = row->next) {
		if (!str_eq(row->assignee, e->agent->id) || !is_bead(row->id, s->filter->bead) ||
		    (s->scope.p && !is_about(s, e->agent->id, row->id)))
			continue;
		e->reason = RESUME_IN_PROGRESS;
		e->bead = row->id;
		e->text = arena_fmt(&c->mem, "it has '" STR_FMT "' in progress: " STR_FMT,
				    STR_ARG(row->id), STR_ARG(row->title));
		return true;
	}
	return false;
}

static void session_insert(struct evidence **list, struct evidence *e)
{
	while (*list && (*list)->agent->seen_ms >= e->agent->seen_ms)
		list = &(*list)->next;
	e->next = *list;
	*list = e;
}

enum err session_evidence(struct call *c, struct agent_files *f,
			  const struct session_filter *filter, struct evidence **out)
{
	struct scene s = { .filter = filter };
	struct registered *a;
	enum err e;

	*out = NULL;
	if (filter->scope.p &&
	    (e = scope_normalise(c, f->root.p ? f->root : STR("/"), filter->scope, &s.scope)))
		return e;
	if (!f->home.p)
		return ERR_OK;
	session_see_files(c, f, &s);
	if ((e = session_see_beads(c, &s)) || (e = session_see_scopes(c, f, &s)))
		return e;
	e = registry_each(c, f, STR_NONE, STR_NONE, &a);
	for (; !e && a; a = a->next) {
		struct evidence *one = arena_new(&c->mem, struct evidence);

		one->agent = a;
		one->liveness = liveness_of(a->seen_ms, c->now_ms, c->stale_minutes);
		if (find_files(c, &s, one) || find_beads_of(c, &s, one))
			session_insert(out, one);
	}
	return e;
}

/* The protocol has only two reasons, so the text says that neither was found. */
enum err session_confirmed(struct call *c, struct agent_files *f, struct str agent,
			   const struct session_filter *filter, struct evidence **out)
{
	struct registered *a;
	enum err e = registry_find(c, f, agent, &a);

	if (e)
		return e;
	*out = arena_new(&c->mem, struct evidence);
	**out = (struct evidence){
		.agent = a,
		.liveness = liveness_of(a->seen_ms, c->now_ms, c->stale_minutes),
		.reason = filter->bead.p ? RESUME_IN_PROGRESS : RESUME_UNCOMMITTED,
		.bead = filter->bead.p ? filter->bead : STR(""),
		.scope = filter->scope,
		.text = STR(
			"no evidence was found; a person confirmed the adoption on the terminal"),
	};
	return ERR_OK;
}

/* The adoption that an earlier try of this request has recorded; NULL: there is none. */
static enum err session_find_adopted(struct call *c, struct agent_files *f, struct registered *a,
				     struct evidence **out)
{
	struct str mark = receipts_mark(c, c->actor);
	const struct value *event = NULL, *payload;
	enum err e = mark.p ? protocol_find(c, f, mark, &event) : ERR_OK;
	int reason;

	*out = NULL;
	if (e || !event)
		return e;
	payload = value_find(event, "payload");
	reason = names_exact(&resume_reasons, value_str(payload, "resume_reason"));
	*out = arena_new(&c->mem, struct evidence);
	**out = (struct evidence){
		.agent = a,
		.liveness = liveness_of(a->seen_ms, c->now_ms, c->stale_minutes),
		.reason = reason == RESUME_IN_PROGRESS ? RESUME_IN_PROGRESS : RESUME_UNCOMMITTED,
		.bead = value_str(event, "bead_id"),
		.scope = value_str(event, "scope"),
		.text = value_str(payload, "evidence"),
	};
	return ERR_OK;
}

enum err session_adopt(struct call *c, struct agent_files *f, struct str agent,
		       struct evidence *found, struct evidence **out)
{
	struct protocol_event event = { .type = EVENT_RESUME, .mark = receipts_mark(c, c->actor) };
	struct registered *a;
	enum err e = registry_find(c, f, agent, &a);

	if (e || (e = session_find_adopted(c, f, a, out)))
		return e;
	if (*out)
		return registry_acted(c, f, a);
	while (found && !str_eq(found->agent->id, agent))
		found = found->next;
	if (!found)
		return call_fail(c, ERR_ADOPTION_REJECTED,
				 "'" STR_FMT "' left no unfinished work here", STR_ARG(agent));
	*out = found;
	found->agent = a; /* read again under the lock */
	if ((*out)->liveness == LIVENESS_ACTIVE)
		call_warn(c,
			  "'" STR_FMT "' was seen less than %lld minutes ago: make sure that no "
			  "other session uses its name",
			  STR_ARG(agent), (long long)c->stale_minutes);
	event.bead = (*out)->bead;
	event.from = event.to = a->id;
	event.scope = (*out)->scope;
	event.reason = (*out)->reason;
	event.text = (*out)->text;
	if ((e = protocol_record(c, f, &event)))
		return e;
	return registry_acted(c, f, (*out)->agent);
}

static enum err session_take_place(struct call *c, struct agent_files *f,
				   const struct registered *old, struct reservation **out)
{
	enum { MINUTES = 120 };
	struct registered *own;
	enum err e = registry_find(c, f, c->actor, &own);

	if (e == ERR_AGENT_NOT_FOUND) {
		call_forgive(c);
		e = registry_add(c, f, c->actor, STR_NONE, old->role, false, &own);
	}
	return e ? e : reservation_adopt(c, f, old->id, c->actor, STR_NONE, MINUTES, out);
}

enum err session_succeed(struct call *c, struct agent_files *f, struct str from,
			 const struct evidence *found, struct reservation **out)
{
	struct protocol_event event = { .type = EVENT_RESUME,
					.bead = found->bead,
					.from = c->actor,
					.to = from,
					.scope = found->scope,
					.reason = found->reason,
					.text = found->text };
	struct registered *old;
	enum err e = registry_find(c, f, from, &old);

	*out = NULL;
	if (!e)
		e = session_take_place(c, f, old, out);
	else if (e == ERR_AGENT_NOT_FOUND) /* a session of a host need not be registered */
		e = call_forgive(c);
	return e ? e : protocol_record(c, f, &event);
}

/* --- names --- */

static const char *const adjectives[] = {
	"amber", "brave", "brisk",  "calm",   "clear",  "cobalt", "coral", "crimson",
	"deep",  "early", "fair",   "fleet",  "gentle", "golden", "green", "hidden",
	"ivory", "jade",  "keen",   "light",  "lucid",  "mellow", "misty", "noble",
	"olive", "pale",  "plain",  "quick",  "quiet",  "rapid",  "royal", "rustic",
	"sage",  "sharp", "silent", "silver", "solar",  "steady", "still", "sunny",
	"swift", "tidal", "true",   "velvet", "vivid",  "warm",   "wild",  "wise",
};
static const char *const nouns[] = {
	"badger",  "beacon", "birch",  "bison",  "brook",   "canyon",  "cedar",  "comet",
	"condor",  "crane",  "delta",  "ember",  "falcon",  "fern",    "finch",  "fjord",
	"forest",  "fox",    "garnet", "glade",  "harbor",  "hawk",    "heron",  "island",
	"juniper", "lagoon", "lark",   "lynx",   "maple",   "marsh",   "meadow", "moth",
	"otter",   "owl",    "pebble", "pine",   "prairie", "quartz",  "raven",  "reef",
	"ridge",   "river",  "robin",  "spruce", "summit",  "thicket", "tundra", "willow",
};

enum err session_name(struct call *c, struct agent_files *f, struct str *out)
{
	enum {
		ADJECTIVES = sizeof adjectives / sizeof *adjectives,
		NOUNS = sizeof nouns / sizeof *nouns,
		STEP = 619
	}; /* STEP is a prime, so all pairs are tried */
	uint32_t at = crc32c(0, f->root.p ? f->root : c->dir);
	struct registered *a;

	for (uint32_t i = 0;; i++, at += STEP) {
		uint32_t pair = at % (ADJECTIVES * NOUNS);

		*out = arena_fmt(&c->mem, "%s-%s", adjectives[pair % ADJECTIVES],
				 nouns[pair / ADJECTIVES]);
		if (i >= ADJECTIVES * NOUNS) /* all pairs are taken */
			*out = arena_fmt(&c->mem, STR_FMT "-%u", STR_ARG(*out),
					 i / (ADJECTIVES * NOUNS) + 1);
		if (registry_find(c, f, *out, &a) == ERR_AGENT_NOT_FOUND)
			break;
		if (c->code)
			return c->code;
	}
	return call_forgive(c);
}
