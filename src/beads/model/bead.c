#include "beads/model/bead.h"

#include <assert.h>

#include "base/hash.h"
#include "base/moment.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/value.h"

static const char *const words[MEMBERS] = {
#define MEMBER(NAME, key, place, rule, look, flags)   [MEMBER_##NAME] = #key,
#define PART(NAME, key, place, rule, look, flags, OF) [MEMBER_##NAME] = #key,
#include "beads/model/members.def"
};
const struct names bead_members = { words, MEMBERS, NULL };

/* Every key of every line is looked up here, so the lengths are compared as constants. */
int member_find(struct str key)
{
#define MEMBER(NAME, word, place, rule, look, flags) \
	if (str_eq(key, STR(#word)))                 \
		return MEMBER_##NAME;
#define PART(NAME, word, place, rule, look, flags, OF) MEMBER(NAME, word, place, rule, look, flags)
#include "beads/model/members.def"

	return -1;
}

enum reg member_reg(enum member m)
{
	static const enum reg reg[MEMBERS] = {
#define MEMBER(NAME, key, place, rule, look, flags)   [MEMBER_##NAME] = REG_##NAME,
#define PART(NAME, key, place, rule, look, flags, OF) [MEMBER_##NAME] = REG_##OF,
#include "beads/model/members.def"
	};

	return reg[m];
}

const char *reg_word(enum reg r)
{
	static const enum member leads[REGS] = {
#define MEMBER(NAME, key, place, rule, look, flags) [REG_##NAME] = MEMBER_##NAME,
#include "beads/model/members.def"
	};

	return words[leads[r]];
}

bool reg_is_extension(enum reg r)
{
#define EXTENSION(NAME, key, type, flags)                                          \
	static_assert((int)REG_##NAME - CORE_REGS == MEMBER_##NAME - CORE_MEMBERS, \
		      #key " follows the rows that are not extensions");
#include "beads/model/members.def"

	return r >= CORE_REGS;
}

unsigned member_flags(enum member m)
{
	static const unsigned char all[MEMBERS] = {
#define MEMBER(NAME, key, place, rule, look, flags)   [MEMBER_##NAME] = flags,
#define PART(NAME, key, place, rule, look, flags, OF) [MEMBER_##NAME] = flags,
#include "beads/model/members.def"
	};

	return all[m];
}

const struct member_option *member_option(enum member m)
{
	static const struct member_option options[MEMBERS] = {
#define TEXT(NAME, key, place, flags, option, also, help) [MEMBER_##NAME] = { option, also, true },
#define LINE(NAME, key, place, flags, option, also, help) [MEMBER_##NAME] = { option, also, false },
#include "beads/model/members.def"
	};

	return &options[m];
}

/* Most marks of a bead have the same actor, so one copy of the name is shared. */
static void bead_own_name(struct arena *mem, struct str *name, struct str *old, struct str *new)
{
	if (!name->p)
		return;
	if (name->p != old->p) {
		*old = *name;
		*new = arena_copy(mem, *name);
	}
	*name = *new;
}

void bead_own(struct arena *mem, struct bead *b)
{
	struct str old = { 0 }, new = { 0 };

	b->id = arena_copy(mem, b->id);
	bead_own_name(mem, &b->created.by, &old, &new);
	bead_own_name(mem, &b->deleted.by, &old, &new);
	for (int i = 0; i < CORE_REGS; i++)
		bead_own_name(mem, &b->mark[i].by, &old, &new);
	for (int i = 0; i < CORE_MEMBERS; i++)
		b->member[i] = arena_copy(mem, b->member[i]);
	bead_own_extensions(mem, b);
	for (int i = 0; b->extension && i < EXTENSIONS; i++) {
		bead_own_name(mem, &b->extension[i].mark.by, &old, &new);
		b->extension[i].value = arena_copy(mem, b->extension[i].value);
	}
	b->reason = arena_copy(mem, b->reason);
	if (b->extras)
		b->extra = memcpy(arena_array(mem, b->extras, sizeof *b->extra), b->extra,
				  b->extras * sizeof *b->extra);
	for (size_t i = 0; i < b->extras; i++) {
		b->extra[i].key = arena_copy(mem, b->extra[i].key);
		b->extra[i].value = arena_copy(mem, b->extra[i].value);
		bead_own_name(mem, &b->extra[i].mark.by, &old, &new);
	}
	if (b->notes)
		b->note = memcpy(arena_array(mem, b->notes, sizeof *b->note), b->note,
				 b->notes * sizeof *b->note);
	for (size_t i = 0; i < b->notes; i++) {
		b->note[i].id = arena_copy(mem, b->note[i].id);
		b->note[i].content = arena_copy(mem, b->note[i].content);
		bead_own_name(mem, &b->note[i].author, &old, &new);
	}
}

struct mark bead_top(const struct bead *b)
{
	struct mark top = { 0 };

	for (int i = 0; i < CORE_REGS; i++)
		top = mark_max(top, b->mark[i]);
	for (int i = 0; b->extension && i < EXTENSIONS; i++)
		top = mark_max(top, b->extension[i].mark);
	for (size_t i = 0; i < b->extras; i++)
		top = mark_max(top, b->extra[i].mark);
	for (size_t i = 0; i < b->notes; i++)
		top = mark_max(top, (struct mark){ b->note[i].at, b->note[i].author });
	return top;
}

bool bead_live(const struct bead *b)
{
	return !b->deleted.by.p || mark_cmp(bead_top(b), b->deleted) > 0;
}

bool bead_blank(const struct bead *b)
{
	return !bead_top(b).by.p && !b->deleted.by.p;
}

bool bead_whole(const struct bead *b)
{
	for (int i = 0; i < CORE_REGS; i++)
		if (!b->mark[i].by.p)
			return false;
	return true;
}

void bead_mark_all(struct bead *b, struct mark mark)
{
	for (int i = 0; i < CORE_REGS; i++)
		b->mark[i] = mark;
}

struct mark bead_mark(const struct bead *b, enum reg r)
{
	if (r < CORE_REGS)
		return b->mark[r];
	return b->extension ? b->extension[r - CORE_REGS].mark : (struct mark){ 0 };
}

struct str bead_member(const struct bead *b, enum member m)
{
	if ((int)m < CORE_MEMBERS)
		return b->member[m];
	return b->extension ? b->extension[m - CORE_MEMBERS].value : STR_NONE;
}

/* Allocates the extensions before the first of them is set. */
static struct extension *bead_extension(struct arena *mem, struct bead *b, int i)
{
	if (!b->extension)
		b->extension = arena_array(mem, EXTENSIONS, sizeof *b->extension);
	return &b->extension[i];
}

void bead_own_extensions(struct arena *mem, struct bead *b)
{
	if (b->extension)
		b->extension = memcpy(arena_array(mem, EXTENSIONS, sizeof *b->extension),
				      b->extension, EXTENSIONS * sizeof *b->extension);
}

void bead_put_mark(struct arena *mem, struct bead *b, enum reg r, struct mark mark)
{
	if (r < CORE_REGS)
		b->mark[r] = mark;
	else if (b->extension || mark.by.p)
		bead_extension(mem, b, (int)r - CORE_REGS)->mark = mark;
}

void bead_put(struct arena *mem, struct bead *b, enum member m, struct str text)
{
	if ((int)m < CORE_MEMBERS)
		b->member[m] = text;
	else if (b->extension || text.p)
		bead_extension(mem, b, (int)m - CORE_MEMBERS)->value = text;
}

bool bead_same_register(const struct bead *a, const struct bead *b, enum reg r)
{
	for (int m = 0; m < MEMBERS; m++)
		if (member_reg((enum member)m) == r &&
		    !str_eq(bead_member(a, (enum member)m), bead_member(b, (enum member)m)))
			return false;
	return true;
}

void bead_drop_register(struct bead *b, enum reg r)
{
	bead_put_mark(NULL, b, r, (struct mark){ 0 });
	for (int m = 0; m < MEMBERS; m++)
		if (member_reg((enum member)m) == r)
			bead_put(NULL, b, (enum member)m, STR_NONE);
}

void bead_put_extra(struct arena *mem, struct bead *b, struct str key, struct str value,
		    struct mark mark)
{
	struct extra *at;
	size_t i = 0;

	while (i < b->extras && json_key_cmp(b->extra[i].key, key) < 0)
		i++;
	if (i == b->extras || !str_eq(b->extra[i].key, key)) {
		at = arena_array(mem, b->extras + 1, sizeof *at);
		if (b->extras) {
			memcpy(at, b->extra, i * sizeof *at);
			memcpy(at + i + 1, b->extra + i, (b->extras - i) * sizeof *at);
		}
		b->extra = at;
		b->extras++;
	}
	b->extra[i] = (struct extra){ key, value, mark };
}

void bead_put_text(struct arena *mem, struct bead *b, enum member m, struct str text)
{
	struct json j = json_new(mem);

	json_str(&j, text);
	bead_put(mem, b, m, text.n ? json_text(&j) : STR_NONE);
}

void bead_put_int(struct arena *mem, struct bead *b, enum member m, int64_t v)
{
	struct json j = json_new(mem);

	json_int(&j, v);
	bead_put(mem, b, m, json_text(&j));
}

void bead_put_stamp(struct arena *mem, struct bead *b, enum member m, struct stamp s)
{
	struct json j = json_new(mem);

	stamp_encode(&j, s);
	bead_put(mem, b, m, json_text(&j));
}

/* Members are canonical JSON, so parsing cannot fail. */
static const struct value *bead_parsed(struct arena *mem, struct str text)
{
	const struct value *v = text.p ? value_read(mem, text) : NULL;

	assert(v || !text.p);
	return v;
}

struct str bead_text(struct arena *mem, const struct bead *b, enum member m)
{
	const struct value *v = bead_parsed(mem, bead_member(b, m));

	return v && v->type == VALUE_STRING ? v->text : STR_NONE;
}

int64_t bead_int(const struct bead *b, enum member m, int64_t otherwise)
{
	struct str text = bead_member(b, m);
	int64_t v;

	return text.p && number_int(text, &v) ? v : otherwise;
}

struct stamp bead_stamp(const struct bead *b, enum member m)
{
	struct arena mem = { 0 };
	struct stamp s = { 0 };

	stamp_decode(bead_parsed(&mem, bead_member(b, m)), &s);
	arena_release(&mem);
	return s;
}

int64_t bead_deferred(struct arena *mem, const struct bead *b)
{
	struct str until = bead_text(mem, b, MEMBER_DEFER_UNTIL);
	int64_t ms;

	if (bead_status(b) == BEAD_CLOSED)
		return 0;
	if (until.p && moment_parse(until, &ms) && ms > 0)
		return ms;
	return str_is(bead_member(b, MEMBER_ORIGINAL_STATUS), "\"deferred\"") ? MOMENT_LAST : 0;
}

/* The word between the quotes: neither of these sets needs an escape. */
static int bead_word_of(const struct names *names, struct str quoted)
{
	return quoted.n > 2 ? names_exact(names, (struct str){ quoted.p + 1, quoted.n - 2 }) : -1;
}

int bead_status(const struct bead *b)
{
	int status = bead_word_of(&bead_statuses, b->member[MEMBER_STATUS]);

	return status < 0 ? BEAD_OPEN : status;
}

int bead_type(const struct bead *b)
{
	int type = bead_word_of(&bead_types, b->member[MEMBER_TYPE]);

	return type < 0 ? BEAD_TASK : type;
}

struct str labels_encode(struct arena *mem, struct str *labels, size_t count)
{
	struct json j = json_new(mem);

	if (!count)
		return STR_NONE;
	str_sort(labels, count);
	json_array(&j);
	for (size_t i = 0; i < count; i++)
		if (!i || !str_eq(labels[i], labels[i - 1]))
			json_str(&j, labels[i]);
	json_end(&j);
	return json_text(&j);
}

struct str *bead_labels(struct arena *mem, const struct bead *b, size_t *count)
{
	const struct value *v = bead_parsed(mem, b->member[MEMBER_LABELS]);
	struct str *out = arena_array(mem, (v ? v->count : 0) + 1, sizeof *out);

	*count = v ? v->count : 0;
	for (size_t i = 0; i < *count; i++)
		out[i] = v->item[i].text;
	return out;
}

/* Another program may have written something else than a list of words. */
struct str *bead_touches(struct arena *mem, const struct bead *b, size_t *count)
{
	const struct value *v = bead_parsed(mem, bead_member(b, MEMBER_TOUCHES));
	size_t have = v && v->type == VALUE_ARRAY ? v->count : 0;
	struct str *out = arena_array(mem, have + 1, sizeof *out);

	*count = 0;
	for (size_t i = 0; i < have; i++)
		if (v->item[i].type == VALUE_STRING)
			out[(*count)++] = v->item[i].text;
	return out;
}

static const struct str request_key = { "request", 7 };

struct str bead_request(struct arena *mem, const struct bead *b, struct str *args)
{
	for (size_t i = 0; i < b->extras; i++) {
		const struct value *v;

		if (!str_eq(b->extra[i].key, request_key))
			continue;
		v = bead_parsed(mem, b->extra[i].value);
		if (v->type != VALUE_ARRAY || v->count != 2)
			break;
		*args = value_text(&v->item[1]);
		return value_text(&v->item[0]);
	}
	return STR_NONE;
}

void bead_put_request(struct arena *mem, struct bead *b, struct str key, struct str args,
		      struct mark mark)
{
	enum { DIGITS = 32 }; /* digits of the hash of the arguments that are kept */
	struct json j = json_new(mem);

	json_array(&j);
	json_str(&j, key);
	json_str(&j, str_head(args, args.n < DIGITS ? args.n : DIGITS));
	json_end(&j);
	bead_put_extra(mem, b, request_key, json_text(&j), mark);
}

bool priority_parse(struct str text, int64_t *out)
{
	bool letter = text.n == 2 && (text.p[0] == 'P' || text.p[0] == 'p');
	struct str digit = letter ? str_skip(text, 1) : text;

	if (digit.n != 1 || digit.p[0] < '0' || digit.p[0] > '4')
		return false;
	*out = digit.p[0] - '0';
	return true;
}

bool bead_id_starts(struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		char ch = text.p[i], lower = (char)(ch | 0x20);

		if (!(lower >= 'a' && lower <= 'z') && !(ch >= '0' && ch <= '9') &&
		    (i == 0 || (ch != '-' && ch != '_' && ch != '.')))
			return false;
	}
	return text.n && text.n <= BEAD_ID_MOST;
}

bool bead_id_valid(struct str id)
{
	return bead_id_starts(id) && !strchr("-_.", id.p[id.n - 1]);
}

bool bead_prefix_valid(struct str prefix)
{
	return prefix.n <= BEAD_PREFIX_MOST && bead_id_valid(prefix);
}

/* All 256 bits as 50 digits of base 36, the highest first. */
static void bead_base36(unsigned char digest[SHA256_BYTES], char out[50])
{
	for (int at = 50; at-- > 0;) {
		unsigned rest = 0;

		for (size_t i = 0; i < SHA256_BYTES; i++) {
			rest = rest << 8 | digest[i];
			digest[i] = (unsigned char)(rest / 36);
			rest %= 36;
		}
		out[at] = "0123456789abcdefghijklmnopqrstuvwxyz"[rest];
	}
}

/* An id with the same prefix, and a longer suffix that is made from the text. */
static struct str bead_derived_id(struct arena *mem, struct str id, struct str text)
{
	enum { LONGER = 4, DIGITS = 50 };
	unsigned char digest[SHA256_BYTES];
	struct buf out = { .mem = mem };
	size_t prefix = id.n;
	char digits[DIGITS];

	sha256(text, digest);
	bead_base36(digest, digits);
	while (prefix && id.p[prefix - 1] != '-')
		prefix--;
	if (id.n + LONGER + 1 > BEAD_ID_MOST) { /* the id cannot get longer: use all digits */
		buf_put(&out, str_head(id, BEAD_ID_MOST - DIGITS - 1));
		buf_char(&out, '-');
		buf_put(&out, (struct str){ digits, DIGITS });
		return buf_str(&out);
	}
	if (!prefix) { /* without a dash, the whole id becomes the prefix */
		buf_put(&out, id);
		buf_char(&out, '-');
		prefix = id.n;
	} else {
		buf_put(&out, str_head(id, prefix));
	}
	for (size_t i = 0; i < id.n - prefix + LONGER; i++)
		buf_char(&out, digits[i % sizeof digits]);
	return buf_str(&out);
}

struct str bead_other_id(struct arena *mem, struct str id, struct mark created)
{
	struct json j = json_new(mem);

	json_array(&j);
	json_str(&j, id);
	stamp_encode(&j, created.at);
	json_str(&j, created.by);
	json_end(&j);
	return bead_derived_id(mem, id, json_text(&j));
}

struct str bead_copy_id(struct arena *mem, struct str id, struct mark created, size_t n)
{
	struct json j = json_new(mem);

	json_array(&j);
	json_str(&j, STR("copy"));
	json_str(&j, id);
	mark_encode(&j, created);
	json_int(&j, (int64_t)n);
	json_end(&j);
	return bead_derived_id(mem, id, json_text(&j));
}

int extra_cmp(const void *a, const void *b)
{
	return json_key_cmp(((const struct extra *)a)->key, ((const struct extra *)b)->key);
}
