#include <stdlib.h>
#include <sys/socket.h>

#include "base/moment.h"
#include "base/system/peer.h"
#include "serve/http.h"

/* Connections: whose they are, and how long they may take to say something. */

enum { HEAD_S = 10 }; /* for a request to come */

void greet(void *arg, struct MHD_Connection *connection, void **context,
	   enum MHD_ConnectionNotificationCode what)
{
	struct http *h = arg;
	struct guest *guest = *context;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	pthread_mutex_lock(&h->mutex);
	if (what == MHD_CONNECTION_NOTIFY_STARTED && (guest = calloc(1, sizeof *guest))) {
		*guest = (struct guest){ .h = h,
					 .fd = info ? info->connect_fd : -1,
					 .expected = true,
					 .since = moment_ticks(),
					 .next = h->guests,
					 .link = &h->guests };
		guest->stranger = !peer_is_us(guest->fd);
		if (guest->next)
			guest->next->link = &guest->next;
		h->guests = guest;
		*context = guest;
	} else if (what == MHD_CONNECTION_NOTIFY_CLOSED && guest) {
		*guest->link = guest->next;
		if (guest->next)
			guest->next->link = guest->link;
		free(guest);
		*context = NULL;
	}
	pthread_mutex_unlock(&h->mutex);
}

/* Whoever sends a byte now and then would be there for ever. */
void http_sweep(struct http *h)
{
	int64_t now = moment_ticks();

	invitations_sweep(h);
	pthread_mutex_lock(&h->mutex);
	for (struct guest *g = h->guests; g; g = g->next)
		if (g->expected && now - g->since > HEAD_S * 1000)
			shutdown(g->fd, SHUT_RDWR);
	pthread_mutex_unlock(&h->mutex);
}

void expect(struct MHD_Connection *connection, bool expected)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct guest *guest = info ? info->socket_context : NULL;

	if (!guest)
		return;
	pthread_mutex_lock(&guest->h->mutex);
	guest->expected = expected;
	guest->since = guest->h->last = moment_ticks();
	pthread_mutex_unlock(&guest->h->mutex);
}
