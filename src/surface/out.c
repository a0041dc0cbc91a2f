#include "surface/out.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"

/* The last thing that can go wrong: nobody got the answer. */
int out_print(struct str text, int status)
{
	if (file_write(STDOUT_FILENO, text))
		return status;
	if (errno != EPIPE)
		fprintf(stderr, "error: cannot write the answer: %s\n", strerror(errno));
	return status ? status : 1;
}
