#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/system/file.h"
#include "serve/http.h"

/* Listens on the loopback, for IPv4 and IPv6. */

static int bind_socket(const struct sockaddr *at, socklen_t size)
{
	AUTO_FD fd = socket(at->sa_family, SOCK_STREAM, 0);
	int yes = 1, bound;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (at->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) || bind(fd, at, size) || listen(fd, 128))
		return -1;
	bound = fd;
	fd = -1;
	return bound;
}

static int bind_loopback(int *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons((uint16_t)*port) };
	socklen_t size = sizeof at;
	int fd = bind_socket((struct sockaddr *)&at, size);

	if (fd >= 0 && getsockname(fd, (struct sockaddr *)&at, &size))
		file_close(&fd);
	*port = ntohs(at.sin_port);
	return fd;
}

/* False if the port is in use. A machine without IPv6 needs no second socket. */
static bool bind_loopback6(int port, int *fd)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6,
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT,
				   .sin6_port = htons((uint16_t)port) };

	*fd = bind_socket((struct sockaddr *)&at, sizeof at);
	return *fd >= 0 || errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL;
}

/*
 * Browsers try ::1 first for a name below .localhost, where another user's server could listen. So
 * both addresses are bound, or none.
 */
bool loopback_bind(int *port, int *fd, int *fd6)
{
	enum { TRIES = 16 };
	int asked = *port;

	for (int i = 0; i < TRIES; i++) {
		*port = asked;
		*fd = bind_loopback(port);
		if (*fd < 0 || bind_loopback6(*port, fd6))
			return *fd >= 0;
		file_close(fd);
		if (asked)
			break;
	}
	errno = EADDRINUSE;
	return false;
}
