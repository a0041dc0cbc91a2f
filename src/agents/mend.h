#ifndef AGENTS_MEND_H
#define AGENTS_MEND_H

#include "store/mend.h"

/*
 * Looks at the files of the agents. With `m->fix`, damaged lines are taken out of the records,
 * what snapshots still know is put back, and damaged snapshots are made again; a copy of each
 * damaged file is kept.
 */
enum err agents_mend(struct call *c, struct mend *m);

#endif
