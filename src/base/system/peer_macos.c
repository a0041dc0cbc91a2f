#include "base/system/peer.h"

#include <unistd.h>

bool peer_is_us(int fd)
{
	uid_t uid;
	gid_t gid;

	return !getpeereid(fd, &uid, &gid) && uid == geteuid();
}
