#include "base/moment.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

/*
 * bd query: upstream's expressions over the members of a bead.
 *
 *	or   = and { "OR" and }
 *	and  = not { "AND" not }
 *	not  = [ "NOT" ] ( "(" or ")" | member operator value )
 *
 * The parser evaluates while it reads, once for each bead: expressions are short.
 */

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_QUOTED, TOKEN_OPERATOR, TOKEN_OPEN, TOKEN_CLOSE };

struct expression {
	struct call *c;
	struct str rest;
	enum token_kind kind;
	struct str token;
	const char *why;          /* the text was refused; or NULL */
	const struct value *bead; /* NULL: the text is only checked */
	unsigned depth;
};

enum { DEPTH_MOST = 50 };

static bool expression_is_operator(char ch)
{
	return ch == '=' || ch == '!' || ch == '<' || ch == '>' || ch == ':';
}

static size_t expression_word_length(struct str s)
{
	size_t n = 0;

	while (n < s.n && !expression_is_operator(s.p[n]) && s.p[n] != '(' && s.p[n] != ')' &&
	       (unsigned char)s.p[n] > ' ')
		n++;
	return n;
}

static void expression_take(struct expression *q, enum token_kind kind, size_t skip, size_t n,
			    size_t after)
{
	q->kind = kind;
	q->token = (struct str){ q->rest.p + skip, n };
	q->rest = str_skip(q->rest, skip + n + after);
}

static void expression_next(struct expression *q)
{
	const char *end;
	char ch;

	q->rest = str_trim(q->rest);
	ch = q->rest.n ? q->rest.p[0] : '\0';
	if (!q->rest.n)
		q->kind = TOKEN_END;
	else if (ch == '(' || ch == ')')
		expression_take(q, ch == '(' ? TOKEN_OPEN : TOKEN_CLOSE, 0, 1, 0);
	else if (expression_is_operator(ch))
		expression_take(q, TOKEN_OPERATOR, 0, q->rest.n > 1 && q->rest.p[1] == '=' ? 2 : 1,
				0);
	else if ((ch == '"' || ch == '\'') &&
		 (end = memchr(q->rest.p + 1, ch, q->rest.n - 1)) != NULL)
		expression_take(q, TOKEN_QUOTED, 1, (size_t)(end - q->rest.p) - 1, 1);
	else
		expression_take(q, TOKEN_WORD, 0, expression_word_length(q->rest), 0);
}

static bool expression_is_word(const struct expression *q, const char *upper, const char *lower)
{
	return q->kind == TOKEN_WORD && (str_is(q->token, upper) || str_is(q->token, lower));
}

/* --- comparing --- */

static bool expression_compares(struct str op, int cmp)
{
	if (str_is(op, "=") || str_is(op, "==") || str_is(op, ":"))
		return !cmp;
	if (str_is(op, "!="))
		return cmp;
	if (str_is(op, "<"))
		return cmp < 0;
	if (str_is(op, "<="))
		return cmp <= 0;
	return str_is(op, ">") ? cmp > 0 : cmp >= 0;
}

static int expression_cmp_int(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* "7d" is the moment seven days ago. */
static bool expression_moment(struct expression *q, struct str value, int64_t *ms)
{
	int64_t ago;

	if (duration_parse(value, &ago)) {
		*ms = q->c->now_ms - ago;
		return true;
	}
	if (value.n == 10) /* a date */
		value = arena_fmt(&q->c->mem, STR_FMT "T00:00:00Z", STR_ARG(value));
	return moment_parse(value, ms);
}

static bool expression_has_item(const struct value *list, struct str value)
{
	for (size_t i = 0; list && i < list->count; i++)
		if (str_eq(list->item[i].text, value))
			return true;
	return false;
}

/* The name of the member in our JSON. */
static const char *expression_member(struct str name)
{
	static const char *const names[][2] = {
		{ "created", "created_at" }, { "updated", "updated_at" },
		{ "closed", "closed_at" },   { "label", "labels" },
		{ "type", "issue_type" },    { "notes", "notes_text" },
		{ "due", "due_at" },         { "defer", "defer_until" },
		{ "desc", "description" },   { "estimate", "estimated_minutes" },
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (str_is(name, names[i][0]))
			return names[i][1];
	return NULL;
}

static bool expression_matches(struct expression *q, struct str name, struct str op,
			       struct str value)
{
	const char *alias = expression_member(name);
	const struct value *v = alias ? value_find(q->bead, alias) : value_member(q->bead, name);
	int64_t a, b;

	if (str_is(value, "none") || str_is(value, "null"))
		return expression_compares(op, v && v->type != VALUE_NULL && v->text.n);
	if (v && v->type == VALUE_ARRAY)
		return expression_compares(op, !expression_has_item(v, value));
	if (!v || v->type == VALUE_NULL)
		return str_is(op, "!=");
	if (v->type == VALUE_BOOL)
		return expression_compares(op, v->yes != str_is(value, "true"));
	if (v->type == VALUE_NUMBER && number_int(v->text, &a) &&
	    number_int(value.n && (value.p[0] | 0x20) == 'p' ? str_skip(value, 1) : value, &b))
		return expression_compares(op, expression_cmp_int(a, b));
	if (moment_parse(v->text, &a) && expression_moment(q, value, &b))
		return expression_compares(op, expression_cmp_int(a, b));
	if (str_is(op, ":"))
		return str_has(v->text, value);
	return expression_compares(op, str_cmp(v->text, value));
}

/* --- the grammar --- */

static bool expression_or(struct expression *q);

static bool expression_condition(struct expression *q)
{
	struct str name = q->token, op;
	bool yes;

	if (q->kind != TOKEN_WORD || !name.n) {
		q->why = "the name of a member is missing";
		return false;
	}
	expression_next(q);
	op = q->token;
	if (q->kind != TOKEN_OPERATOR || str_is(op, "!")) {
		q->why = "one of = != < <= > >= : is missing after a member";
		return false;
	}
	expression_next(q);
	if (q->kind != TOKEN_WORD && q->kind != TOKEN_QUOTED) {
		q->why = "the value is missing after an operator";
		return false;
	}
	yes = q->bead && expression_matches(q, name, op, q->token);
	expression_next(q);
	return yes;
}

static bool expression_not(struct expression *q)
{
	bool yes;

	if (q->depth > DEPTH_MOST || q->why) {
		q->why = q->why ? q->why : "it is nested too deeply";
		return false;
	}
	if (expression_is_word(q, "NOT", "not")) {
		expression_next(q);
		q->depth++;
		yes = !expression_not(q);
		q->depth--;
		return yes;
	}
	if (q->kind != TOKEN_OPEN)
		return expression_condition(q);
	expression_next(q);
	q->depth++;
	yes = expression_or(q);
	q->depth--;
	if (q->kind != TOKEN_CLOSE && !q->why)
		q->why = "a ')' is missing";
	expression_next(q);
	return yes;
}

static bool expression_and(struct expression *q)
{
	bool yes = expression_not(q);

	while (!q->why && expression_is_word(q, "AND", "and")) {
		expression_next(q);
		yes = expression_not(q) && yes;
	}
	return yes;
}

static bool expression_or(struct expression *q)
{
	bool yes = expression_and(q);

	while (!q->why && expression_is_word(q, "OR", "or")) {
		expression_next(q);
		yes = expression_and(q) || yes;
	}
	return yes;
}

static bool expression_holds(struct expression *q, struct str text, const struct value *bead)
{
	bool yes;

	q->rest = text;
	q->bead = bead;
	expression_next(q);
	yes = expression_or(q);
	if (!q->why && q->kind != TOKEN_END)
		q->why = "there is text after its end";
	return yes;
}

/* --- the operation --- */

struct body {
	struct str text;
	int64_t limit;
	bool all;
};

static const struct field fields[] = {
	{ "text", &kind_str, offsetof(struct body, text), FIELD_PLACE | FIELD_REQUIRED,
	  .arg = "EXPRESSION", .min = 1, .max = 4096,
	  .help = "conditions on members, with AND, OR, NOT and parentheses" },
	{ "limit", &kind_int, offsetof(struct body, limit), .role = ROLE_LIMIT, .letter = 'n',
	  .min = 0, .preset = "50", .help = "maximum number of results; 0 shows all" },
	{ "all", &kind_bool, offsetof(struct body, all), .letter = 'a',
	  .help = "show closed beads too" },
	{ 0 },
};

struct expression_list {
	struct expression q;
	struct str text;
	struct json *reply;
	struct arena scratch;
	int64_t left;
};

static void expression_visit(void *arg, const struct bead_row *row)
{
	struct expression_list *l = arg;
	struct json j;

	if (!l->left)
		return;
	arena_reset(&l->scratch);
	j = json_new(&l->scratch);
	public_encode(&j, row, &(struct shape){ 0 });
	if (!expression_holds(&l->q, l->text, value_read(&l->scratch, json_text(&j))))
		return;
	json_raw(l->reply, json_text(&j));
	l->left--;
}

static enum err upstream_query_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;
	struct expression_list l = { .q.c = c,
				     .text = in->text,
				     .reply = reply,
				     .left = in->limit ? in->limit : INT64_MAX };
	struct bead_filter filter = { .visit = expression_visit, .arg = &l };
	struct bead_row *rows;
	enum err e;

	expression_holds(&l.q, in->text, NULL);
	if (l.q.why) {
		call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not an expression: %s",
			  STR_ARG(in->text), l.q.why);
		return call_step(c, "An expression is such as: status=open AND (priority<=1 OR "
				    "label=urgent)");
	}
	if (!in->all && !str_has(in->text, STR("closed")))
		filter.statuses = 1u << BEAD_OPEN | 1u << BEAD_IN_PROGRESS;
	json_array(reply);
	e = query_each(c, &s->beads->cache, &filter, &rows);
	json_end(reply);
	arena_release(&l.scratch);
	return e;
}

static const char *const examples[] = {
	"bd query \"status=open AND priority<=1\"",
	"bd query \"(type=bug OR label=urgent) AND updated>7d\"",
	NULL,
};

const struct op op_upstream_query = {
	.name = "upstream query",
	.help = "List beads that fit an expression",
	.more = "A condition is a member, one of = != < <= > >= and a value; ':' looks for text "
		"within a member. A time is 2026-01-31, RFC 3339, or 7d for seven days ago; 'none' "
		"is a member that is not set.",
	.examples = examples,
	.flags = BEAD_READ,
	.body_size = sizeof(struct body),
	.fields = fields,
	.reply = &beads_reply,
	.run = upstream_query_run,
};
