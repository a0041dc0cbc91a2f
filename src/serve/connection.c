#include <stdlib.h>
#include <sys/socket.h>

#include "base/moment.h"
#include "base/system/peer.h"
#include "serve/http.h"

/* The open connections: the user of each peer, and the time in which a request has to come. */

enum { HEAD_S = 10 }; /* to receive a request */

void connection_notify(void *arg, struct MHD_Connection *connection, void **context,
		       enum MHD_ConnectionNotificationCode what)
{
	struct http *h = arg;
	struct connection *known = *context;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	pthread_mutex_lock(&h->mutex);
	if (what == MHD_CONNECTION_NOTIFY_STARTED && (known = calloc(1, sizeof *known))) {
		*known = (struct connection){ .h = h,
					      .fd = info ? info->connect_fd : -1,
					      .expected = true,
					      .since = moment_ticks(),
					      .next = h->connections,
					      .link = &h->connections };
		known->foreign = !peer_is_us(known->fd);
		if (known->next)
			known->next->link = &known->next;
		h->connections = known;
		*context = known;
	} else if (what == MHD_CONNECTION_NOTIFY_CLOSED && known) {
		*known->link = known->next;
		if (known->next)
			known->next->link = known->link;
		free(known);
		*context = NULL;
	}
	pthread_mutex_unlock(&h->mutex);
}

/* The library's timeout counts from the last byte, so a client that sends a byte now and then would
 * keep its connection for ever. */
void http_sweep(struct http *h)
{
	int64_t now = moment_ticks();

	invitations_sweep(h);
	pthread_mutex_lock(&h->mutex);
	for (struct connection *one = h->connections; one; one = one->next)
		if (one->expected && now - one->since > HEAD_S * 1000)
			shutdown(one->fd, SHUT_RDWR);
	pthread_mutex_unlock(&h->mutex);
}

void connection_expect(struct MHD_Connection *connection, bool expected, bool used)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct connection *known = info ? info->socket_context : NULL;

	if (!known)
		return;
	pthread_mutex_lock(&known->h->mutex);
	known->expected = expected;
	known->since = moment_ticks();
	if (used)
		known->h->last = known->since;
	pthread_mutex_unlock(&known->h->mutex);
}
