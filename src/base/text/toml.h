#ifndef BASE_TEXT_TOML_H
#define BASE_TEXT_TOML_H

#include "base/call.h"

/*
 * Edits another program's TOML file: changes one section, which is a table with its subtables;
 * every other byte is preserved. `header` is the table's dotted key, as between the brackets; any
 * spelling of the same key names the same section.
 *
 * ERR_INVALID_INPUT, with the line: a line is not a key, table or comment, a string or bracket is
 * not closed, or the key is defined in another form (an inline table, dotted keys, an array of
 * tables, twice). Values are not checked any further.
 */

/*
 * Replaces the lines below the header with `body`, which may contain headers of subtables. Comments
 * after its last line are left out, because in the file they would belong to the next section. A
 * new section is added at the end, after a blank line.
 */
enum err toml_put(struct call *c, struct str text, struct str header, struct str body,
		  struct str *out);

/* Removes the section; removing one that toml_put() added restores the file byte for byte. */
enum err toml_remove(struct call *c, struct str text, struct str header, struct str *out);

/* The lines below the section's header, or absent. */
enum err toml_find(struct call *c, struct str text, struct str header, struct str *out);

#endif
