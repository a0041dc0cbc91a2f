#include "base/system/peer.h"

#include <sys/socket.h>
#include <unistd.h>

/* The kernel's layout of struct ucred, which libc declares only under _GNU_SOURCE. */
struct credentials {
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

bool peer_is_us(int fd)
{
	struct credentials who = { 0 };
	socklen_t size = sizeof who;

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) && who.uid == geteuid();
}
