#ifndef BOARD_REF_H
#define BOARD_REF_H

#include "store/board/board_db.h"

/* "where:what:ref", exactly three parts, none empty. */
enum err ref_parse(struct call *c, struct str text, struct ref *out);

/* Makes a reference from its three parts; a third part of only digits is a number. */
enum err ref_make(struct call *c, struct str where, struct str what, struct str ref,
		  struct ref *out);

/* Chooses between a whole reference and one given in three parts; absent if neither was given. */
enum err ref_choose(struct call *c, const struct ref *whole, const struct str part[3],
		    struct ref *out);

/* The JSON array that the board stores. */
struct str ref_encode_all(struct call *c, const struct ref *refs, size_t count);

#endif
