#ifndef BASE_SYSTEM_FAULT_H
#define BASE_SYSTEM_FAULT_H

/*
 * Called before every step that reaches the disk: a write, a rename, a sync, a SQLite operation. In
 * a release build it does nothing. A build with FAULTS=1 counts the calls and kills the process
 * before the call whose number is in ABACUS_FAULT_AT; with ABACUS_FAULT_COUNT=FILE it writes the
 * number of calls to FILE.
 */
void fault_point(void);

/*
 * An identifier that takes the place of that of the current boot, so that a test can open what a
 * power failure has left as the next boot would. Always NULL in a release build; a build with
 * FAULTS=1 takes it from ABACUS_FAULT_BOOT.
 */
const char *fault_boot(void);

#endif
