#ifndef BASE_TEXT_UTF8_H
#define BASE_TEXT_UTF8_H

#include <stdint.h>

#include "base/arena.h"

/* Length of the valid UTF-8 sequence at the start of `s`; 0 if there is none. */
size_t utf8_decode(struct str s, uint32_t *cp);

/* Writes a character, of at most four bytes, and returns the end of it. */
char *utf8_encode(char *out, uint32_t cp);

bool utf8_valid(struct str s);
struct str utf8_clean(struct arena *mem, struct str s); /* invalid bytes become U+FFFD */
bool utf8_has_control(struct str s);                    /* C0, DEL or C1 */

/*
 * Is this a character that a terminal obeys, or that makes text look like other text? Controls (C0,
 * DEL, C1), line and paragraph separators, bidirectional marks and overrides, invisible format
 * characters, and characters that look like a space but are none (U+2800, U+3164, …) are unsafe.
 * The joiners U+200C and U+200D and the variation selectors are not: Persian and emoji need them.
 */
bool utf8_is_unsafe(uint32_t cp);

/* Is this a space of any width, a tab or a newline? */
bool utf8_is_blank(uint32_t cp);

/*
 * A quick test. True: this is a line of printable ASCII without two spaces in a row. False: it may
 * be one, and has to be looked at.
 */
bool utf8_is_line(struct str s);

/* The text in one line: a run of blanks, or a tab or newline alone, becomes one space. */
struct str utf8_line(struct arena *mem, struct str s);

/* Replaces unsafe characters, except newline and tab, and invalid bytes with U+FFFD. */
struct str utf8_safe(struct arena *mem, struct str s);

/* The number of printable ASCII bytes at the start of `s`. */
size_t utf8_plain(struct str s);

/* The width of `s` on a terminal: 2 for wide, 0 for combining characters. */
size_t utf8_width(struct str s);

/* The longest prefix of `s` of at most `columns` width, in whole characters. */
struct str utf8_head(struct str s, size_t columns);

/* Like utf8_head(), ending with an ellipsis if something was cut off. */
struct str utf8_shorten(struct arena *mem, struct str s, size_t columns);

/* The same, with the ellipsis in the middle: the end of a path says more than its middle. */
struct str utf8_shorten_middle(struct arena *mem, struct str s, size_t columns);

#endif
