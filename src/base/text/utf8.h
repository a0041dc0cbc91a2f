#ifndef BASE_TEXT_UTF8_H
#define BASE_TEXT_UTF8_H

#include <stdint.h>

#include "base/arena.h"

/* Bytes of the valid sequence at the start of `s`, 0 if there is none. */
size_t utf8_decode(struct str s, uint32_t *cp);

bool utf8_valid(struct str s);
struct str utf8_clean(struct arena *mem, struct str s); /* what is not becomes U+FFFD */
bool utf8_has_control(struct str s);                    /* C0, DEL or C1 */

/*
 * Characters that a terminal obeys, or that make text look like other text: controls (C0, DEL,
 * C1), line and paragraph separators, bidirectional marks and overrides, and invisible format
 * characters. The joiners U+200C and U+200D are none of them: Persian and emoji need them.
 */
bool utf8_is_unsafe(uint32_t cp);

/* Unsafe characters but newline and tab, and bytes that are not UTF-8, become U+FFFD. */
struct str utf8_safe(struct arena *mem, struct str s);

/* The bytes that `s` begins with which are printable ASCII. */
size_t utf8_plain(struct str s);

/* Columns that `s` fills on a terminal: 2 for wide, 0 for combining characters. */
size_t utf8_width(struct str s);

/* The longest start of `s` that fills at most `columns`, never half a character. */
struct str utf8_head(struct str s, size_t columns);

/* The same, ending in an ellipsis where something was left out. */
struct str utf8_shorten(struct arena *mem, struct str s, size_t columns);

#endif
