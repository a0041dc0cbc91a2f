#include "ops/upstream/expression.h"

#include "base/moment.h"
#include "base/number.h"
#include "base/text/value.h"

/* The parser evaluates while it reads, once for each bead: expressions are short. */

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
	q->token = str_part(q->rest, skip, skip + n);
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
	VALUE_EACH(one, list)
		if (str_eq(one->text, value))
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

static bool expression_holds(struct expression *q, struct str text)
{
	bool yes;

	q->rest = text;
	expression_next(q);
	yes = expression_or(q);
	if (!q->why && q->kind != TOKEN_END)
		q->why = "there is text after its end";
	return yes;
}

const char *expression_wrong(struct call *c, struct str text)
{
	struct expression q = { .c = c };

	expression_holds(&q, text);
	return q.why;
}

bool expression_fits(struct call *c, struct str text, const struct value *bead)
{
	struct expression q = { .c = c, .bead = bead };

	return expression_holds(&q, text);
}
