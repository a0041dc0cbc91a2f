#ifndef BEADS_REPAIR_VALIDATE_H
#define BEADS_REPAIR_VALIDATE_H

#include <stdint.h>

#include "beads/model/snapshot.h"

struct state;

/* What is wrong with canonical files. */

enum severity { SEVERITY_WARNING, SEVERITY_ERROR };

struct finding {
	const char *code;
	enum severity severity;
	const char *file;
	int64_t line; /* from 1; 0: the file as a whole */
	struct str id, message;
	bool relation; /* it is about how records relate, not about one line */
	struct finding *next;
};

enum { FINDINGS_MOST = 1000 }; /* then nothing more is looked for */

/* In the order of the files. An absent file is an error, an empty one is not. */
struct finding *validate_snapshot(struct arena *mem, const struct snapshot *files, int64_t now_ms);

/*
 * The same for a sync, which reports only what it cannot read. Lines that say something sound in
 * another way than this program would are put into `rewritten`.
 */
struct finding *validate_readable(struct arena *mem, const struct snapshot *files, int64_t now_ms,
				  struct state *rewritten);

/*
 * Are the checksums right, and can every line be read? REMOTE_DAMAGED, with the file and the
 * line: a line that is wrong says more than a checksum.
 */
enum err validate_usable(struct call *c, const struct snapshot *files, struct state *rewritten);

#endif
