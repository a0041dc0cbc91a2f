#ifndef STORE_DB_DB_MEMORY_H
#define STORE_DB_DB_MEMORY_H

/*
 * A memory allocator for SQLite in a short-lived process. SQLite allocates a few thousand small
 * pieces for one command, and a sixth of the command's instructions were in malloc() and free().
 * Here each size has a list of unused pieces; freed pieces go back to that list, never to the
 * system, so a long-running process must not use it.
 *
 * Must be called before any other function of SQLite.
 */
void db_memory_use(void);

#endif
