/*
 * Markdown as trees, for the page. A tree is JSON: a text is a string, an element is [name,
 * {attributes}, children …]. The names are those of `blocks` and `spans` below; there is no HTML in
 * it, and a link has an address only if it leads to http, https or mailto. The page creates one
 * element for each node, so that text of others is only ever text.
 *
 * Texts are parsed in a process of its own, 'abacus-serve markdown', which the service starts like
 * its workers: a text that md4c cannot cope with ends that process, and the page shows it as it was
 * written.
 */
#include <md4c.h>
#include <strings.h>
#include <unistd.h>

#include "base/system/platform.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "serve/serve.h"
#include "surface/mcp/rpc.h"

enum {
	DEPTH = 40,          /* of nested elements; deeper ones are left out, their text is not */
	PARSE_SECONDS = 2,   /* for all texts of a request */
	ADDRESS_MOST = 2048, /* bytes */
	MEMORY_MOST = 256 << 20,
};

struct markdown {
	struct json *j;
	struct buf text; /* not yet written: md4c splits texts */
	struct {
		const char *name;
		bool block;
	} open[DEPTH];
	int depth, skipped;
};

static void markdown_flush(struct markdown *m)
{
	if (m->text.n)
		json_str(m->j, buf_str(&m->text));
	m->text.n = 0;
}

/* Opens an element and its attributes; false: it is left out. */
static bool markdown_open(struct markdown *m, const char *name, bool block)
{
	markdown_flush(m);
	if (!name || m->skipped || m->depth == DEPTH) {
		m->skipped++;
		return false;
	}
	m->open[m->depth].name = name;
	m->open[m->depth++].block = block;
	json_array(m->j);
	json_str(m->j, str_of(name));
	json_object(m->j);
	return true;
}

static void markdown_close_to(struct markdown *m, int depth)
{
	markdown_flush(m);
	for (; m->depth > depth; m->depth--)
		json_end(m->j);
}

/* Version 0.4.8 of md4c may leave a span that it has not entered, and enter one that it never
 * leaves: the tree is well-formed all the same. */
static int markdown_leave(struct markdown *m, const char *name, bool block)
{
	int i = m->depth - 1;

	if (m->skipped) {
		markdown_flush(m);
		m->skipped--;
		return 0;
	}
	while (i >= 0 && (m->open[i].name != name || m->open[i].block != block)) {
		if (!block && m->open[i].block)
			return 0;
		i--;
	}
	if (i >= 0)
		markdown_close_to(m, i);
	return 0;
}

/* --- texts --- */

static void buf_put_code_point(struct buf *b, uint32_t cp)
{
	if (!cp || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
		cp = 0xfffd;
	b->n = (size_t)(utf8_encode(buf_room(b, 4), cp) - b->p);
}

/* The value of &#60; or &#x3c; with at most seven digits, as md4c admits; -1: it is another one. */
static int64_t entity_number(struct str entity)
{
	int64_t value = 0;
	size_t i = 2;
	int base = 10;

	if (entity.n < 4 || entity.p[1] != '#')
		return -1;
	if (entity.p[2] == 'x' || entity.p[2] == 'X') {
		base = 16;
		i++;
	}
	for (; i < entity.n - 1; i++) {
		char ch = entity.p[i];
		int digit = ch <= '9' ? ch - '0' : (ch | 0x20) - 'a' + 10;

		if (value > 0x10ffff)
			return 0xfffd;
		value = value * base + digit;
	}
	return value;
}

/* Entities with other names stay as they were written. */
static void buf_put_entity(struct buf *b, struct str entity)
{
	static const char *const named[][2] = {
		{ "&amp;", "&" },         { "&lt;", "<" },         { "&gt;", ">" },
		{ "&quot;", "\"" },       { "&apos;", "'" },       { "&nbsp;", "\u00a0" },
		{ "&hellip;", "\u2026" }, { "&ndash;", "\u2013" }, { "&mdash;", "\u2014" },
	};
	int64_t number = entity_number(entity);

	if (number >= 0) {
		buf_put_code_point(b, (uint32_t)number);
		return;
	}
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (str_is(entity, named[i][0])) {
			buf_put(b, str_of(named[i][1]));
			return;
		}
	buf_put(b, entity);
}

static void buf_put_markdown(struct buf *b, MD_TEXTTYPE type, const MD_CHAR *p, MD_SIZE n)
{
	struct str text = { p, n };

	if (type == MD_TEXT_NULLCHAR)
		buf_put(b, STR("\ufffd"));
	else if (type == MD_TEXT_BR || type == MD_TEXT_SOFTBR)
		buf_char(b, '\n');
	else if (type == MD_TEXT_ENTITY)
		buf_put_entity(b, text);
	else
		buf_put(b, text);
}

static int markdown_text(MD_TEXTTYPE type, const MD_CHAR *p, MD_SIZE n, void *arg)
{
	struct markdown *m = arg;

	buf_put_markdown(&m->text, type, p, n);
	return 0;
}

/* --- elements --- */

static const char *const blocks[] = {
	[MD_BLOCK_QUOTE] = "blockquote",
	[MD_BLOCK_UL] = "ul",
	[MD_BLOCK_OL] = "ol",
	[MD_BLOCK_LI] = "li",
	[MD_BLOCK_HR] = "hr",
	[MD_BLOCK_H] = "h",
	[MD_BLOCK_CODE] = "pre",
	[MD_BLOCK_P] = "p",
	[MD_BLOCK_TABLE] = "table",
	[MD_BLOCK_THEAD] = "thead",
	[MD_BLOCK_TBODY] = "tbody",
	[MD_BLOCK_TR] = "tr",
	[MD_BLOCK_TH] = "th",
	[MD_BLOCK_TD] = "td",
};

static const char *block_name(MD_BLOCKTYPE type)
{
	return (size_t)type < sizeof blocks / sizeof *blocks ? blocks[type] : NULL;
}

static int markdown_enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct markdown *m = arg;

	if (type == MD_BLOCK_DOC || !markdown_open(m, block_name(type), true))
		return 0;
	if (type == MD_BLOCK_H) {
		json_put_int(m->j, "level", ((MD_BLOCK_H_DETAIL *)detail)->level);
	} else if (type == MD_BLOCK_OL) {
		json_put_int(m->j, "start", ((MD_BLOCK_OL_DETAIL *)detail)->start);
	} else if (type == MD_BLOCK_LI && ((MD_BLOCK_LI_DETAIL *)detail)->is_task) {
		json_put_bool(m->j, "done", ((MD_BLOCK_LI_DETAIL *)detail)->task_mark != ' ');
	}
	json_end(m->j);
	return 0;
}

static int markdown_leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	(void)detail;
	return type == MD_BLOCK_DOC ? 0 : markdown_leave(arg, block_name(type), true);
}

static const char *const spans[] = {
	[MD_SPAN_EM] = "em",     [MD_SPAN_STRONG] = "strong",
	[MD_SPAN_A] = "a",       [MD_SPAN_IMG] = "a", /* nothing is loaded from elsewhere */
	[MD_SPAN_CODE] = "code", [MD_SPAN_DEL] = "del",
};

static const char *span_name(MD_SPANTYPE type)
{
	return (size_t)type < sizeof spans / sizeof *spans ? spans[type] : NULL;
}

static bool address_is_safe(struct str address)
{
	static const char *const schemes[] = { "http://", "https://", "mailto:" };

	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
		if (address.n > strlen(schemes[i]) &&
		    !strncasecmp(address.p, schemes[i], strlen(schemes[i])))
			return true;
	return false;
}

/* A reference repeats the address of its definition, so a long address is left out. */
static void markdown_put_address(struct markdown *m, const MD_ATTRIBUTE *a)
{
	struct buf address = { .mem = m->text.mem };

	if (a->size > ADDRESS_MOST)
		return;
	for (int i = 0; a->text && a->substr_offsets[i] < a->size; i++)
		buf_put_markdown(&address, a->substr_types[i], a->text + a->substr_offsets[i],
				 a->substr_offsets[i + 1] - a->substr_offsets[i]);
	if (address_is_safe(buf_str(&address)))
		json_put_str(m->j, "href", buf_str(&address));
}

static int markdown_enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct markdown *m = arg;

	if (!markdown_open(m, span_name(type), false))
		return 0;
	if (type == MD_SPAN_A)
		markdown_put_address(m, &((MD_SPAN_A_DETAIL *)detail)->href);
	else if (type == MD_SPAN_IMG)
		markdown_put_address(m, &((MD_SPAN_IMG_DETAIL *)detail)->src);
	json_end(m->j);
	return 0;
}

static int markdown_leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
	(void)detail;
	return markdown_leave(arg, span_name(type), false);
}

static void markdown_encode(struct arena *mem, struct str text, struct json *j)
{
	static const MD_PARSER parser = {
		.flags = MD_DIALECT_GITHUB | MD_FLAG_NOHTML,
		.enter_block = markdown_enter_block,
		.leave_block = markdown_leave_block,
		.enter_span = markdown_enter_span,
		.leave_span = markdown_leave_span,
		.text = markdown_text,
	};
	struct markdown m = { .j = j, .text.mem = mem };

	json_array(j);
	if (text.n <= UINT32_MAX && md_parse(text.p, (MD_SIZE)text.n, &parser, &m))
		_exit(1); /* out of memory: the tree is not whole */
	markdown_close_to(&m, 0);
	json_end(j);
}

/* --- the process --- */

static struct str markdown_answer(struct arena *mem, const struct value *ask)
{
	const struct value *texts = value_find(value_find(ask, "params"), "texts");
	struct json j = json_new(mem);

	json_object(&j);
	json_put_array(&j, "data");
	for (size_t i = 0; texts && texts->type == VALUE_ARRAY && i < texts->count; i++)
		markdown_encode(mem, texts->item[i].text, &j);
	json_end(&j);
	json_end(&j);
	buf_char(&j.out, '\n');
	return buf_str(&j.out);
}

int markdown_start(void)
{
	struct rpc_input in;
	struct rpc_message *m;
	bool heard = true;

	platform_limit_memory(MEMORY_MOST);
	rpc_open(&in);
	while (heard && (m = rpc_next(&in))) {
		alarm(PARSE_SECONDS);
		heard = rpc_send(markdown_answer(&m->call.mem, m->value));
		alarm(0);
		rpc_release(m);
	}
	rpc_close(&in);
	return 0;
}
