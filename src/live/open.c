#include "live/open.h"

#include "beads/beads.h"
#include "store/board/board_db.h"

enum err live_open_beads(struct call *c, struct beads *out, bool *there)
{
	enum err e = beads_open(c, BEADS_READ, out);

	*there = !e;
	return e == ERR_NOT_INITIALIZED || e == ERR_NOT_A_REPOSITORY ? call_forgive(c) : e;
}

enum err live_open_board(struct call *c, struct board *out, bool *there)
{
	enum err e = board_open(c, BOARD_READ, out);

	*there = !e;
	return e == ERR_NOT_INITIALIZED ? call_forgive(c) : e;
}
