/*
 * Reads a damaged journal as far as its checksums allow.
 *
 * A record's checksum covers its text and the checksum of the previous record. After a damaged
 * record it is not known yet whether its text or its checksum is damaged. So the next record is
 * checked against two candidates: the checksum stored with the damaged record, and the checksum
 * computed from its text. If the computed one matches, the damaged record's text is intact, and
 * only its stored checksum is wrong.
 */
#include <stdio.h>

#include "base/hash.h"
#include "base/system/fault.h"
#include "base/system/file.h"
#include "store/journal_parts.h"

enum {
	CANDIDATES = 4,
	DIGITS = 8,
	DIGITS_ALIKE = 6, /* equal digits of a checksum that was itself damaged */
};

/* A line of a segment, or one of two records whose separating line end was lost. */
struct line {
	struct str text; /* without its line end */
	bool head;       /* the first line of a segment, which is not a record */
	enum journal_verdict verdict;
	const char *why;
	struct line *next;
};

/* A possible value of the checksum before a record. */
struct journal_salvage_candidate {
	uint32_t crc;
	struct line *confirms; /* the line whose text is intact if this value is right; or NULL */
};

struct journal_salvage_salvage {
	struct call *c;
	bool last; /* no other segment follows */
	struct line *first, **tail;
	struct journal_salvage_candidate before[CANDIDATES];
	size_t candidates;
	bool chained; /* the previous line is intact, so there is one candidate */
};

static bool has_head(struct str text)
{
	uint32_t crc;

	return text.n > JOURNAL_HEAD && journal_hex(text, &crc) && text.p[8] == ' ';
}

static struct str json_of(struct str text)
{
	return str_skip(text, text.n < JOURNAL_HEAD ? text.n : JOURNAL_HEAD);
}

static void put_candidate(struct journal_salvage_salvage *s, uint32_t crc, struct line *confirms)
{
	if (s->candidates < CANDIDATES)
		s->before[s->candidates++] = (struct journal_salvage_candidate){ crc, confirms };
}

static void go_on_from(struct journal_salvage_salvage *s, uint32_t crc, bool chained)
{
	s->candidates = 0;
	s->chained = chained;
	put_candidate(s, crc, NULL);
}

/* Do the digits differ from the checksum in at most two places? */
static bool journal_salvage_alike(struct str text, uint32_t crc)
{
	char digits[DIGITS + 1];
	int same = 0;

	if (text.n < DIGITS)
		return false;
	snprintf(digits, sizeof digits, "%08x", crc);
	for (int i = 0; i < DIGITS; i++)
		same += digits[i] == text.p[i];
	return same >= DIGITS_ALIKE;
}

/* Does the stored checksum match the text, after one of the candidates? */
static bool journal_salvage_holds(struct journal_salvage_salvage *s, struct str text,
				  struct str json)
{
	uint32_t crc;

	if (text.n < DIGITS || !journal_hex(text, &crc))
		return false;
	for (size_t i = 0; i < s->candidates; i++)
		if (crc32c(s->before[i].crc, json) == crc) {
			struct line *before = s->before[i].confirms;

			if (before) {
				before->verdict = JOURNAL_MENDED;
				before->why = "its checksum is damaged; the record after it proves "
					      "its text";
			}
			return true;
		}
	return false;
}

/*
 * If a record's line end was overwritten, so that another record or nothing follows in the same
 * line: the length of the first record. 0: the line is not of that kind.
 */
static size_t glued_at(struct journal_salvage_salvage *s, struct str text)
{
	struct str json = json_of(text);
	size_t done = 0;
	uint32_t want, crc;

	if (!has_head(text) || !s->candidates)
		return 0;
	journal_hex(text, &want);
	crc = s->before[0].crc;
	for (size_t at = 1; at < json.n; at++) {
		if (at + 1 < json.n && !has_head(str_skip(json, at + 1)))
			continue;
		crc = crc32c(crc, (struct str){ json.p + done, at - done });
		done = at;
		if (crc == want)
			return JOURNAL_HEAD + at;
	}
	return 0;
}

static void journal_salvage_break_line(struct journal_salvage_salvage *s, struct line *line)
{
	struct journal_salvage_candidate old[CANDIDATES];
	size_t count = s->candidates;
	uint32_t written;

	memcpy(old, s->before, sizeof old);
	line->verdict = JOURNAL_BROKEN;
	line->why = has_head(line->text) ? "its checksum is wrong" : "it is not a record";
	s->candidates = 0;
	s->chained = false;
	if (has_head(line->text)) {
		journal_hex(line->text, &written);
		put_candidate(s, written, NULL);
	}
	if (count)
		put_candidate(s, crc32c(old[0].crc, json_of(line->text)), line);
	for (size_t i = 0; i < count; i++) /* a stray line end may have split a record */
		put_candidate(s, old[i].crc, old[i].confirms);
}

static void journal_salvage_verdict(struct journal_salvage_salvage *s, struct line *line)
{
	struct str json = json_of(line->text);
	uint32_t crc = 0, due;

	if (line->text.n > JOURNAL_HEAD && journal_salvage_holds(s, line->text, json)) {
		bool space = line->text.p[8] == ' ';

		journal_hex(line->text, &crc);
		line->verdict = space ? JOURNAL_SOUND : JOURNAL_MENDED;
		line->why = space ? NULL : "the blank after its checksum is damaged";
		go_on_from(s, crc, true);
		return;
	}
	due = s->candidates ? crc32c(s->before[0].crc, json) : 0;
	if (json.n && s->chained && journal_salvage_alike(line->text, due)) {
		line->verdict = JOURNAL_MENDED;
		line->why = "its checksum is damaged, but its text matches";
		go_on_from(s, due, true);
		return;
	}
	if (has_head(line->text) && !s->chained) {
		journal_hex(line->text, &crc);
		line->verdict = JOURNAL_UNVERIFIED;
		line->why = "the record before it is damaged, so its checksum can't be verified";
		go_on_from(s, crc, true);
		return;
	}
	journal_salvage_break_line(s, line);
}

/* Checks the first line of a later segment, which is not a record. */
static void judge_head(struct journal_salvage_salvage *s, struct line *line)
{
	struct str json = json_of(line->text);
	int64_t after, first;
	bool well = has_head(line->text) && journal_head_parse(json, &after, &first);
	uint32_t crc = 0, due = well ? crc32c((uint32_t)after, json) : 0;

	if (line->text.n >= DIGITS)
		journal_hex(line->text, &crc);
	well = well && crc == due;
	if (!well) {
		journal_salvage_break_line(s, line);
		line->verdict = JOURNAL_MENDED; /* it has no data of any bead */
		line->why = "the first line of the file is damaged";
		return;
	}
	if (s->chained && s->before[0].crc != (uint32_t)after) {
		line->verdict = JOURNAL_GAP;
		line->why = "records at the end of the file before it are missing";
	}
	go_on_from(s, crc, true);
}

static struct line *journal_salvage_add_line(struct journal_salvage_salvage *s, struct str text)
{
	struct line *line = arena_new(&s->c->mem, struct line);

	*line = (struct line){ .text = text };
	*s->tail = line;
	s->tail = &line->next;
	return line;
}

/*
 * A line may contain several records. An unfinished line at the very end was never acknowledged,
 * unless it is a complete record.
 */
static void journal_salvage_take_line(struct journal_salvage_salvage *s, struct str text,
				      bool ended)
{
	size_t at;

	while (text.n > JOURNAL_HEAD && !journal_salvage_holds(s, text, json_of(text)) &&
	       (at = glued_at(s, text))) {
		struct line *line = journal_salvage_add_line(s, str_head(text, at));

		journal_salvage_verdict(s, line);
		line->verdict = JOURNAL_MENDED;
		line->why = "the end of its line is damaged";
		text = str_skip(text, at + 1);
		if (!text.n)
			return;
	}
	if (ended || !s->last ||
	    (text.n > JOURNAL_HEAD && journal_salvage_holds(s, text, json_of(text))))
		journal_salvage_verdict(s, journal_salvage_add_line(s, text));
}

static void take_segment(struct journal_salvage_salvage *s, int64_t segment, struct str text)
{
	bool head = segment > 1;
	const char *start = text.p;

	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		struct str line = str_head(text, end ? (size_t)(end - text.p) : text.n);

		if (s->last && journal_has_hole(line, line.p - start, (int64_t)(text.n - line.n)))
			return; /* was never acknowledged */
		if (head) {
			struct line *first = journal_salvage_add_line(s, line);

			first->head = true;
			judge_head(s, first);
		} else {
			journal_salvage_take_line(s, line, end);
		}
		head = false;
		text = str_skip(text, line.n + (end ? 1 : 0));
	}
}

static enum err journal_salvage_visit_lines(struct journal_salvage_salvage *s, int64_t segment,
					    struct str text, journal_piece_visit *visit, void *arg)
{
	enum err e = ERR_OK;

	for (struct line *l = s->first; !e && l; l = l->next) {
		struct journal_piece p = {
			.verdict = l->verdict,
			.text = l->text,
			.why = l->why,
			.record = { l->head ? STR_NONE : json_of(l->text), segment,
				    l->text.p - text.p },
		};

		if (!l->head || l->verdict != JOURNAL_SOUND)
			e = visit(s->c, &p, arg);
	}
	return e;
}

static enum err salvage_segment(struct journal_salvage_salvage *s, struct str dir, int64_t segment,
				journal_piece_visit *visit, void *arg)
{
	struct str path = journal_path(s->c, dir, segment), text;
	enum err e = file_read_part(s->c, path, 0, 0, &text);
	struct journal_piece gone = { .verdict = JOURNAL_GAP,
				      .record.segment = segment,
				      .why = "the file is missing" };

	if (e)
		return e;
	if (!text.p) {
		s->candidates = 0;
		s->chained = false;
		return visit(s->c, &gone, arg);
	}
	s->first = NULL;
	s->tail = &s->first;
	take_segment(s, segment, text);
	return journal_salvage_visit_lines(s, segment, text, visit, arg);
}

enum err journal_salvage(struct call *c, struct str dir, journal_piece_visit *visit, void *arg)
{
	struct journal_salvage_salvage s = { .c = c };
	struct journal_segments found;
	enum err e = journal_segments(c, dir, &found);

	if (!found.count)
		found.first = found.last = 1;
	if (found.first == 1)
		go_on_from(&s, 0, true);
	for (int64_t i = found.first; !e && i <= found.last; i++) {
		s.last = i == found.last;
		e = salvage_segment(&s, dir, i, visit, arg);
	}
	return e;
}

/* --- setting the damaged files aside --- */

/* The identity of the journal, from any of its files. */
static enum err find_first(struct call *c, struct str dir, const struct journal_segments *s,
			   int64_t *first)
{
	enum { HEAD_MOST = 128 };
	struct str text, line;
	int64_t after;
	uint32_t crc;
	enum err e = ERR_OK;

	for (int64_t i = s->last; !e && i >= s->first; i--) {
		if ((e = file_read_part(c, journal_path(c, dir, i), 0, HEAD_MOST, &text)))
			return e;
		if (i == 1 && text.n >= DIGITS && journal_hex(text, &crc))
			*first = crc;
		else if (i > 1 && str_next(&text, '\n', &line) &&
			 journal_head_parse(json_of(line), &after, first))
			break;
	}
	return e;
}

/* The checksum to continue from: any value, if the last one is lost. */
static enum err note_last(struct call *c, const struct journal_piece *p, void *arg)
{
	struct journal_place *end = arg;
	uint32_t crc = 1;

	(void)c;
	if (p->verdict == JOURNAL_SOUND)
		journal_hex(p->text, &crc);
	end->crc = crc;
	return ERR_OK;
}

enum err journal_after_damage(struct call *c, struct str dir, struct journal_place *end)
{
	struct journal_segments s;
	struct file_found found = { 0 };
	enum err e = journal_segments(c, dir, &s);

	*end = (struct journal_place){ .segment = s.last, .last = -1 };
	if (e || !s.count || (e = journal_salvage(c, dir, note_last, end)))
		return e;
	if ((e = file_look(c, journal_path(c, dir, s.last), &found)) ||
	    (e = find_first(c, dir, &s, &end->first)))
		return e;
	end->offset = found.size;
	end->first = end->first ? end->first : 1;
	return ERR_OK;
}

enum err journal_set_aside(struct call *c, struct str dir, int64_t segment, struct str suffix)
{
	struct journal_segments s;
	enum err e = journal_segments(c, dir, &s);

	for (int64_t i = s.first; !e && s.count && i < segment; i++) {
		struct str from = journal_path(c, dir, i),
			   to = arena_fmt(&c->mem, STR_FMT "." STR_FMT, STR_ARG(from),
					  STR_ARG(suffix));

		fault_point();
		if (rename(arena_cstr(&c->mem, from), to.p) && !file_missing())
			e = file_fail(c, "rename", from);
	}
	return e ? e : file_sync_dir(c, journal_path(c, dir, segment));
}
