#ifndef SURFACE_CLI_OUT_H
#define SURFACE_CLI_OUT_H

#include "base/arena.h"

struct view;

/*
 * All that the programs print goes through here. Text may quote what others wrote, so no
 * character that a terminal would obey gets out, whatever the caller forgot; only views have
 * colours. Each of those that answer returns the status to exit with: the given one, or another
 * if the answer could not be written.
 */
int out_view(struct view *v, int status);
int out_text(struct arena *mem, struct str text, int status);

/*
 * JSON, for programs: exactly the bytes that it has, but on a terminal, where characters that it
 * would obey are written as \u escapes, which mean the same.
 */
int out_json(struct arena *mem, struct str json, int status);

/* A line for people, or of JSON, on standard error. */
void out_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void out_say_json(struct arena *mem, struct str json);

/* A question on standard error: the answer is typed behind it. */
void out_ask(const char *question);

/* A picture for the whole terminal, made of what view_text() gave and of our own codes. */
void out_screen(struct str picture);

#endif
