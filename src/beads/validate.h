#ifndef BEADS_VALIDATE_H
#define BEADS_VALIDATE_H

#include <stdint.h>

#include "beads/snapshot.h"

/* What is wrong with canonical files. */

enum severity { SEVERITY_WARNING, SEVERITY_ERROR };

struct finding {
	const char *code;
	enum severity severity;
	const char *file;
	int64_t line; /* from 1; 0: the file as a whole */
	struct str id, message;
	struct finding *next;
};

enum { FINDINGS_MOST = 1000 }; /* then nothing more is looked for */

/* In the order of the files. An absent file is an error, an empty one is not. */
struct finding *validate_snapshot(struct arena *mem, const struct snapshot *files,
				  int64_t now_ms);

#endif
