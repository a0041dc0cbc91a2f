#ifndef BASE_TEXT_TOML_H
#define BASE_TEXT_TOML_H

#include "base/call.h"

/*
 * Edits of somebody else's TOML file: one section, that is a table with the tables below it,
 * changes; every other byte stays as it was. `header` is the table's dotted key as it stands
 * between the brackets; any spelling of the same key names the same section.
 *
 * ERR_INVALID_INPUT, with the line: a line is no key, table or comment, a string or bracket is
 * not closed, or the key is there in another form (as an inline table, by dotted keys, as an
 * array of tables, twice). Values are not looked into any further.
 */

/*
 * Makes `body` the lines below the header; they may have headers of tables below it. Comments
 * behind its last line are left out: in the file they would belong to what follows. A new section
 * goes to the end, after a blank line.
 */
enum err toml_put(struct call *c, struct str text, struct str header, struct str body,
		  struct str *out);

/* Takes the section out; one that toml_put() added is gone to the byte. */
enum err toml_remove(struct call *c, struct str text, struct str header, struct str *out);

/* The lines below its header, or absent. */
enum err toml_find(struct call *c, struct str text, struct str header, struct str *out);

#endif
