#ifndef BASE_SYSTEM_FAULT_H
#define BASE_SYSTEM_FAULT_H

/*
 * Stands before every step that the disk will remember: a write, a rename, a sync, a step of
 * SQLite. In the program that users get it does nothing. A build with FAULTS=1 counts, and kills
 * itself before the one that ABACUS_FAULT_AT names; with ABACUS_FAULT_COUNT=FILE it writes down
 * how many there were.
 */
void fault_point(void);

#endif
