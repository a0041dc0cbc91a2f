#ifndef STORE_DB_DB_MEMORY_H
#define STORE_DB_DB_MEMORY_H

/*
 * Memory for SQLite in a process that ends soon. SQLite allocates a few thousand small pieces for
 * one command, and a sixth of the command's instructions were those of malloc() and free(). Here
 * pieces of one size are kept in a list of their own, and go back to that list, never to the
 * system: a process that stays must not use it.
 *
 * To be called before anything else of SQLite.
 */
void db_memory_use(void);

#endif
