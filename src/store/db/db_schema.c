/*
 * Checks the definitions in a database's schema. The SQL is split into tokens like SQLite does, and
 * normalised; parts of a definition that SQLite would evaluate are then searched in our own
 * normalised schema, as text.
 */
#include "store/db/db_schema.h"

#include "base/buf.h"

/* --- tokens, as in SQLite's own parser --- */

enum kind { WORD, QUOTED, STRING, OTHER, ODD };

struct token {
	enum kind kind;
	struct str text;
};

static bool is_word_byte(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' ||
	       (ch >= '0' && ch <= '9') || ch == '$' || (ch & 0x80);
}

/* Skips white space and comments. A comment without an end extends to the end of the text. */
static struct str db_schema_skip_blanks(struct str sql)
{
	const char *end;

	for (;;) {
		if (sql.n && memchr(" \t\n\f\r", sql.p[0], 5)) {
			sql = str_skip(sql, 1);
		} else if (str_starts(sql, STR("--"))) {
			end = memchr(sql.p, '\n', sql.n);
			sql = str_skip(sql, end ? (size_t)(end - sql.p) : sql.n);
		} else if (str_starts(sql, STR("/*"))) {
			sql = str_skip(sql, 2);
			end = str_find(sql, STR("*/"));
			sql = str_skip(sql, end ? (size_t)(end - sql.p) + 2 : sql.n);
		} else {
			return sql;
		}
	}
}

/* The length up to the closing quote; a doubled quote is part of the text, except in brackets. */
static size_t quoted_length(struct str sql)
{
	char close = sql.p[0] == '[' ? ']' : sql.p[0];
	size_t i = 1;

	for (; i < sql.n; i++) {
		if (sql.p[i] != close)
			continue;
		if (close == ']' || i + 1 == sql.n || sql.p[i + 1] != close)
			return i + 1;
		i++;
	}
	return i;
}

/* False at the end of the text. A NUL ends the text, as in SQLite. */
static bool next_token(struct str *sql, struct token *out)
{
	struct str rest = db_schema_skip_blanks(*sql);
	size_t n = 1;

	if (!rest.n || !rest.p[0])
		return false;
	out->kind = OTHER;
	if (str_starts(rest, STR("\xef\xbb\xbf"))) { /* a byte order mark */
		out->kind = ODD;
		n = 3;
	} else if (is_word_byte(rest.p[0])) {
		out->kind = WORD;
		while (n < rest.n && is_word_byte(rest.p[n]))
			n++;
	} else if (memchr("'\"`[", rest.p[0], 4)) {
		out->kind = rest.p[0] == '\'' ? STRING : QUOTED;
		n = quoted_length(rest);
	}
	out->text = str_head(rest, n);
	*sql = str_skip(rest, n);
	return true;
}

static bool db_schema_is(const struct token *t, const char *text)
{
	return (t->kind == WORD || t->kind == OTHER) && str_is(t->text, text);
}

/* --- statements --- */

/* A statement's tokens, in the normalised text. */
struct statement {
	struct token *token;
	size_t count;
};

static char to_lower(char ch)
{
	return ch >= 'A' && ch <= 'Z' ? (char)(ch - 'A' + 'a') : ch;
}

static void put_lower(struct buf *b, struct str text)
{
	char *p = buf_room(b, text.n);

	for (size_t i = 0; i < text.n; i++)
		p[i] = to_lower(text.p[i]);
	b->n += text.n;
}

static void put_token(struct buf *b, const struct token *t)
{
	if (t->kind == WORD)
		put_lower(b, t->text);
	else
		buf_put(b, t->text);
	buf_char(b, ' ');
}

/* SQLite does not store "IF NOT EXISTS". */
static void drop_condition(struct buf *b, const struct token *t)
{
	struct str tail = STR(" if not exists ");

	if (t->text.n == 6 && str_ends(buf_str(b), tail))
		b->n -= tail.n - 1;
}

/* `odd`: a part of the text is ambiguous. */
static struct str db_schema_normalise(struct arena *mem, struct str sql, bool *odd)
{
	struct buf b = { .mem = mem };
	struct token t;

	*odd = false;
	buf_char(&b, ' ');
	while (next_token(&sql, &t)) {
		*odd = *odd || t.kind == ODD;
		put_token(&b, &t);
		drop_condition(&b, &t);
	}
	return buf_str(&b);
}

struct str schema_normalise(struct arena *mem, struct str sql)
{
	bool odd;

	return db_schema_normalise(mem, sql, &odd);
}

static struct statement db_schema_split(struct arena *mem, struct str text)
{
	struct statement s = { 0 };
	struct token t;

	while (next_token(&text, &t)) {
		s.token = arena_room(mem, s.token, s.count, sizeof *s.token);
		s.token[s.count++] = t;
	}
	return s;
}

/* The beginnings of statements that may continue with "IF NOT EXISTS" in our schema. */
static const char *const heads[] = { "CREATE TABLE ", "CREATE INDEX " };

bool schema_is_verbatim(struct str schema, struct str sql)
{
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		if (str_starts(sql, str_of(heads[i])))
			return str_has(schema, str_skip(sql, strlen(heads[i])));
	return str_has(schema, sql);
}

/* The rest of our schema from its next definition on; other statements insert rows. */
static struct str skip_to_definition(struct str schema)
{
	const char *end;

	while (schema.n && !str_starts(schema, STR("CREATE "))) {
		end = memchr(schema.p, ';', schema.n);
		schema = str_skip(schema, end ? (size_t)(end - schema.p) + 1 : schema.n);
	}
	return schema;
}

bool schema_take(struct str *schema, struct str sql)
{
	struct str rest = skip_to_definition(*schema), condition = STR("IF NOT EXISTS ");

	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		struct str head = str_of(heads[i]);

		if (!str_starts(rest, head) || !str_starts(sql, head))
			continue;
		rest = str_skip(rest, head.n);
		sql = str_skip(sql, head.n);
		if (str_starts(rest, condition))
			rest = str_skip(rest, condition.n);
		break;
	}
	if (!sql.n || !str_starts(rest, sql))
		return false;
	rest = str_skip(rest, sql.n);
	if (rest.n && rest.p[0] != ';')
		return false;
	*schema = skip_to_definition(rest);
	return true;
}

/* The token at an index, or an empty one. */
static const struct token *db_schema_at(const struct statement *s, size_t i)
{
	static const struct token none = { .kind = ODD, .text = { "", 0 } };

	return i < s->count ? &s->token[i] : &none;
}

static struct str name_at(struct arena *mem, const struct statement *s, size_t i)
{
	const struct token *t = db_schema_at(s, i);
	struct buf b = { .mem = mem };

	if ((t->kind == QUOTED || t->kind == STRING) && t->text.n >= 2) {
		put_lower(&b, str_head(str_skip(t->text, 1), t->text.n - 2));
		return buf_str(&b);
	}
	return t->kind == WORD ? t->text : STR("");
}

/* The index of the closing parenthesis of the group that begins at `from`. */
static size_t group_end(const struct statement *s, size_t from)
{
	int depth = 0;

	for (size_t i = from; i < s->count; i++) {
		depth += db_schema_is(db_schema_at(s, i), "(");
		if (db_schema_is(db_schema_at(s, i), ")") && --depth <= 0)
			return i;
	}
	return s->count;
}

/* Is this part of the statement, including blanks, in our schema as well? */
static bool in_ours(struct str ours, const struct statement *s, size_t first, size_t last)
{
	const char *begin = db_schema_at(s, first)->text.p, *end;

	if (last >= s->count)
		return false;
	end = s->token[last].text.p + s->token[last].text.n;
	return str_has(ours, (struct str){ begin - 1, (size_t)(end - begin) + 2 });
}

/* --- our tables --- */

static struct str own_text(struct arena *mem, struct str ours, const char *kind, struct str name)
{
	struct str head = arena_fmt(mem, " create %stable " STR_FMT " ", kind, STR_ARG(name));
	const char *found = str_find(ours, head), *end;
	struct str text;

	if (!name.n || !found)
		return STR_NONE;
	text = str_skip(ours, (size_t)(found - ours.p));
	end = str_find(text, STR(" ; "));
	return end ? str_head(text, (size_t)(end - text.p) + 1) : text;
}

static bool is_own(struct arena *mem, struct str ours, struct str name)
{
	return own_text(mem, ours, "", name).p || own_text(mem, ours, "virtual ", name).p;
}

static struct str db_schema_lower(struct arena *mem, struct str text)
{
	struct buf b = { .mem = mem };

	put_lower(&b, text);
	return buf_str(&b);
}

static size_t count_unique(struct str text)
{
	static const char word[] = " unique ";
	const char *found;
	size_t count = 0;

	while ((found = str_find(text, STR(" unique ")))) {
		count++;
		text = str_skip(text, (size_t)(found - text.p) + sizeof word - 2);
	}
	return count;
}

/* --- faults --- */

/* AS and ON are reserved words, so an unquoted column cannot have such a name. */
static const char *table_fault(struct arena *mem, struct str ours, const struct statement *s,
			       struct str name)
{
	size_t unique = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct token *t = db_schema_at(s, i);

		unique += db_schema_is(t, "unique");
		if (db_schema_is(t, "as"))
			return "has a computed column";
		if (db_schema_is(t, "on"))
			return "has an ON clause of its own";
		if (db_schema_is(t, "check") && !in_ours(ours, s, i, group_end(s, i)))
			return "has a CHECK of its own";
		if (db_schema_is(t, "default") && db_schema_is(db_schema_at(s, i + 1), "("))
			return "has a DEFAULT that is computed";
	}
	return unique > count_unique(own_text(mem, ours, "", name)) ? "has a UNIQUE of its own" :
								      NULL;
}

/*
 * Skips a column's name, with an optional COLLATE and direction. Returns the index of the comma or
 * parenthesis after it, or `count`.
 */
static size_t skip_column(const struct statement *s, size_t i)
{
	if (db_schema_at(s, i)->kind != WORD && db_schema_at(s, i)->kind != QUOTED)
		return s->count;
	i++;
	if (db_schema_is(db_schema_at(s, i), "collate"))
		i += 2;
	if (db_schema_is(db_schema_at(s, i), "asc") || db_schema_is(db_schema_at(s, i), "desc"))
		i++;
	return db_schema_is(db_schema_at(s, i), ",") || db_schema_is(db_schema_at(s, i), ")") ?
		       i :
		       s->count;
}

/* `on` is the index of the keyword ON. */
static const char *index_fault(struct str ours, const struct statement *s, size_t on)
{
	size_t i = on + 3;

	if (db_schema_is(db_schema_at(s, 1), "unique"))
		return "has a UNIQUE index of its own";
	while (!db_schema_is(db_schema_at(s, (i = skip_column(s, i))), ")")) {
		if (i >= s->count)
			return "has an index that is computed";
		i++;
	}
	return i + 1 == s->count || in_ours(ours, s, on, s->count - 1) ?
		       NULL :
		       "has a partial index of its own";
}

/* Does another program's table refer to one of ours? */
static bool db_schema_refers(struct arena *mem, struct str ours, const struct statement *s,
			     struct str *table)
{
	for (size_t i = 0; i < s->count; i++) {
		*table = name_at(mem, s, i + 1);
		if (db_schema_is(db_schema_at(s, i), "references") && is_own(mem, ours, *table))
			return true;
	}
	return false;
}

/* The row's columns and its statement must agree. */
static const char *create_fault(struct arena *mem, struct str ours, const struct schema_row *row,
				const struct statement *s, struct str *table)
{
	size_t unique = db_schema_is(db_schema_at(s, 1), "unique");
	struct str name = name_at(mem, s, 2), about;

	if (db_schema_is(db_schema_at(s, 1), "table") && db_schema_is(db_schema_at(s, 3), "(")) {
		if (is_own(mem, ours, name) || db_schema_refers(mem, ours, s, &about)) {
			*table = is_own(mem, ours, name) ? name : about;
			return table_fault(mem, ours, s, name);
		}
		return is_own(mem, ours, *table) ? "is not a table" : NULL;
	}
	if (db_schema_is(db_schema_at(s, 1 + unique), "index") &&
	    db_schema_is(db_schema_at(s, 3 + unique), "on") &&
	    db_schema_is(db_schema_at(s, 5 + unique), "(")) {
		about = name_at(mem, s, 4 + unique);
		if (!is_own(mem, ours, about) && !is_own(mem, ours, *table))
			return NULL;
		*table = is_own(mem, ours, about) ? about : *table;
		return index_fault(ours, s, 3 + unique);
	}
	return is_own(mem, ours, *table) || is_own(mem, ours, db_schema_lower(mem, row->name)) ?
		       "is not a table" :
		       NULL;
}

const char *schema_fault(struct arena *mem, struct str ours, const struct schema_row *row,
			 struct str *table)
{
	bool odd;
	struct str text = db_schema_normalise(mem, row->sql, &odd);
	struct statement s;

	*table = db_schema_lower(mem, row->table);
	if (!odd && str_has(ours, text))
		return NULL;
	if (odd)
		return "has a definition that can be read in two ways";
	s = db_schema_split(mem, text);
	return create_fault(mem, ours, row, &s, table);
}
