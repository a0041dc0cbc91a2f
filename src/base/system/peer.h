#ifndef BASE_SYSTEM_PEER_H
#define BASE_SYSTEM_PEER_H

#include <stdbool.h>

/* Is the process at the other end of a local socket of the user we run as? Of a socket of another
 * kind that cannot be told, and is not asked. */
bool peer_is_us(int fd);

#endif
