/* Lines of JSON-RPC on standard input: every line that is not blank is one message, a value or
 * the reason why it is none, unless another line has cancelled it. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/text/value.h"
#include "folder.h"
#include "surface/mcp/rpc.h"

static void feed(struct call *c, struct str bytes)
{
	int fd = open(arena_cstr(&c->mem, folder_put(c, "input", bytes)), O_RDONLY);

	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
		abort();
	close(fd);
}

static size_t count_lines(struct str text)
{
	struct str line;
	size_t count = 0;

	while (text.n && str_next(&text, '\n', &line))
		count += str_trim(line).n > 0;
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size);
	struct sigaction interrupt, terminate;
	struct call c = fuzz_call();
	struct rpc_message *m;
	struct rpc_input in;
	size_t count = 0;
	sigset_t before;

	sigprocmask(SIG_SETMASK, NULL, &before);
	sigaction(SIGINT, NULL, &interrupt);
	sigaction(SIGTERM, NULL, &terminate);
	feed(&c, text);
	rpc_open(&in);
	while ((m = rpc_next(&in))) {
		rule(m->value || m->why, "a line that is no message has a reason");
		in.current = value_find(m->value, "id");
		in.listener.stop(in.listener.arg);
		in.current = NULL;
		count++;
		rpc_release(m);
	}
	rule(count <= count_lines(text), "no line is two messages");
	rule(str_has(text, STR("notif")) || str_has(text, STR("\\")) || count == count_lines(text),
	     "every line is a message");
	rpc_close(&in);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGTERM, &terminate, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	call_release(&c);
	return 0;
}
