#ifndef AGENTS_MEND_H
#define AGENTS_MEND_H

#include "store/mend.h"

/*
 * Checks the files of the agents. With `m->fix`, removes damaged lines from the records, restores
 * lines that only the snapshots have, and writes damaged snapshots again; a copy of each damaged
 * file is kept.
 */
enum err agents_mend(struct call *c, struct mend *m);

#endif
