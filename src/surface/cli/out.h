#ifndef SURFACE_CLI_OUT_H
#define SURFACE_CLI_OUT_H

#include "base/buf.h"

struct view;

/*
 * All output of the programs goes through here. Text may quote what other users wrote, so
 * characters that a terminal would interpret are never printed as they are; only views may have
 * colours. On a terminal, a line that is wider than it is broken (see view.h), except JSON.
 * Functions that print a reply return the exit status: the given one, or another if the
 * reply could not be written.
 */
int out_view(struct view *v, int status);
int out_text(struct arena *mem, struct str text, int status);

/*
 * Prints JSON, or a text for other programs, without changing a byte, except on a terminal, where
 * characters that it would interpret become \u escapes, which mean the same in JSON. Control
 * characters, which JSON never has as they are, become U+FFFD.
 */
int out_json(struct arena *mem, struct str json, int status);

/* The same for a text that may be larger than memory. */
int out_large(struct buf *text, int status);

/* Prints a line of text, or of JSON, on standard error. */
void out_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void out_say_json(struct arena *mem, struct str json);

/* Prints a question on standard error, without a newline. */
void out_ask(const char *question);

/* Prints a full screen, made of view_text() output and our own escape sequences. */
void out_screen(struct str picture);

#endif
