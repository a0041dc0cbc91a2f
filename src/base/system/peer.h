#ifndef BASE_SYSTEM_PEER_H
#define BASE_SYSTEM_PEER_H

#include <stdbool.h>

/*
 * Does the process at the other end of a socket run as our user? Only for local sockets: no other
 * kind tells.
 */
bool peer_is_us(int fd);

#endif
