/*
 * The journal's files. What was appended is read back; a file that was cut gives the records that
 * are whole; a changed byte is noticed, or was in a line without an end. An input that begins
 * with '=' is the file itself, otherwise its lines are appended.
 */
#include "base/buf.h"
#include "folder.h"
#include "store/journal.h"

struct reading {
	struct buf seen;
	size_t count;
};

static enum err see(struct call *c, const struct journal_record *r, void *arg)
{
	struct reading *reading = arg;

	(void)c;
	buf_put(&reading->seen, r->json);
	buf_char(&reading->seen, '\n');
	reading->count++;
	return ERR_OK;
}

static enum err read_journal(struct call *c, struct reading *out, struct journal_place *place)
{
	enum err e;

	*out = (struct reading){ .seen.mem = &c->mem };
	*place = (struct journal_place){ 0 };
	e = journal_each(c, folder(), place, see, out);
	rule(!e || c->message.n, "a damaged journal is refused with a message");
	c->code = ERR_OK;
	return e;
}

static void check_raw(struct call *c, struct str bytes)
{
	struct reading reading;
	struct journal_place place;
	enum journal_news news;
	enum err e;

	folder_put(c, "journal.1", bytes);
	e = read_journal(c, &reading, &place);
	rule(place.offset <= (int64_t)bytes.n, "nothing is read past the end");
	/* the records that were read are a prefix, each with nine bytes before it */
	rule(place.offset == (int64_t)(reading.seen.n + 9 * reading.count),
	     "the place is behind the last record");
	if (!e && !journal_compare(c, folder(), place, &news))
		rule(news == JOURNAL_SAME || place.offset < (int64_t)bytes.n,
		     "a journal that was read to its end has no news");
	journal_one_follows(c, folder(), place);
}

static struct str append_lines(struct call *c, struct str text)
{
	struct journal_place place = { 0 };
	struct buf all = { .mem = &c->mem };
	struct str line;

	folder_put(c, "journal.1", STR_NONE);
	while (text.n && str_next(&text, '\n', &line)) {
		int fd = -1;

		if (!line.n)
			continue;
		rule(!journal_append(c, folder(), &place, &line, 1, &fd), "a line is appended");
		file_close(&fd);
		buf_put(&all, line);
		buf_char(&all, '\n');
	}
	return buf_str(&all);
}

static void check_changed(struct call *c, struct str bytes, struct str written, size_t at)
{
	struct journal_place place;
	struct reading reading;
	char *copy;

	folder_put(c, "journal.1", str_head(bytes, at));
	rule(!read_journal(c, &reading, &place) && str_starts(written, buf_str(&reading.seen)),
	     "a journal that was cut gives the records before the cut");
	copy = (char *)arena_copy(&c->mem, bytes).p;
	copy[at] ^= 0x20;
	folder_put(c, "journal.1", (struct str){ copy, bytes.n });
	if (!read_journal(c, &reading, &place))
		rule(str_starts(written, buf_str(&reading.seen)),
		     "a journal that was changed gives no other records");
}

static void check_lines(struct call *c, struct str text)
{
	struct str written = append_lines(c, text), bytes;
	struct journal_place place;
	struct reading reading;
	size_t at;

	rule(!read_journal(c, &reading, &place), "what was appended can be read");
	rule(str_eq(buf_str(&reading.seen), written), "what was appended is read");
	if (file_read(c, path_join(&c->mem, folder(), STR("journal.1")), &bytes) || !bytes.n)
		return;
	at = (size_t)(unsigned char)text.p[0] * 37 % bytes.n;
	check_changed(c, bytes, written, at);
	check_changed(c, bytes, written, bytes.n - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size);
	struct call c = fuzz_call();

	if (str_starts(text, STR("=")))
		check_raw(&c, str_skip(text, 1));
	else
		check_lines(&c, text);
	call_release(&c);
	return 0;
}
