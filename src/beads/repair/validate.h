#ifndef BEADS_REPAIR_VALIDATE_H
#define BEADS_REPAIR_VALIDATE_H

#include <stdint.h>

#include "beads/model/snapshot.h"

struct state;

/* Checks canonical files. */

enum severity { SEVERITY_WARNING, SEVERITY_ERROR };

struct finding {
	const char *code;
	enum severity severity;
	const char *file;
	int64_t line; /* from 1; 0: the whole file */
	struct str id, message;
	bool relation; /* about a relation between records, not about one line */
	struct finding *next;
};

bool findings_any_error(const struct finding *list);

enum { FINDINGS_MOST = 1000 }; /* maximum number of findings */

/* The findings, in the order of the files. A missing file is an error, an empty one is not. */
struct finding *validate_snapshot(struct arena *mem, const struct snapshot *files, int64_t now_ms);

/* The same for a sync, which reports only what it cannot read. Lines that are valid but not
 * canonical are put into `rewritten`. */
struct finding *validate_readable(struct arena *mem, const struct snapshot *files, int64_t now_ms,
				  struct state *rewritten);

/* Checks the checksums and reads every line. REMOTE_DAMAGED, preferably with the invalid line,
 * which is more helpful than a checksum. */
enum err validate_usable(struct call *c, const struct snapshot *files, struct state *rewritten);

#endif
