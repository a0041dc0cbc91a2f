#include "hosts/tool_paths.h"

#include "base/buf.h"
#include "base/names.h"
#include "base/system/path.h"
#include "base/text/value.h"

enum { PATHS_MOST = 200 };

struct tool_list {
	struct call *c;
	struct str dir; /* absent: unknown, since the command has changed it */
	struct guard_path *first, **tail;
	size_t count;
};

/* No file has a name with a NUL. */
static void tool_list_add(struct tool_list *list, struct str path)
{
	if (!path.n || list->count == PATHS_MOST || (!list->dir.p && path.p[0] != '/') ||
	    memchr(path.p, '\0', path.n))
		return;
	*list->tail = arena_new(&list->c->mem, struct guard_path);
	(*list->tail)->path = path_resolve(&list->c->mem, list->dir, path);
	(*list->tail)->follow = true;
	list->tail = &(*list->tail)->next;
	list->count++;
}

/* --- shell commands --- */

/* A word of a command; not plain: it has something that only a shell can expand. */
struct shell_word {
	struct str text;
	bool plain, writes; /* writes: `>` stands before it */
};

enum { WORDS_MOST = 100 };

struct shell_command {
	struct shell_word word[WORDS_MOST];
	size_t count;
};

/* The options of a command are not files; after "--" everything is. */
static size_t shell_files(const struct shell_command *cmd, size_t from,
			  const struct shell_word *out[WORDS_MOST])
{
	size_t n = 0;
	bool options = true;

	for (size_t i = from; i < cmd->count; i++) {
		const struct shell_word *w = &cmd->word[i];

		if (w->writes)
			continue;
		if (options && str_is(w->text, "--"))
			options = false;
		else if (!options || !w->text.n || w->text.p[0] != '-')
			out[n++] = w;
	}
	return n;
}

static bool shell_has_option(const struct shell_command *cmd, const char *option)
{
	for (size_t i = 1; i < cmd->count; i++)
		if (str_starts(cmd->word[i].text, str_of(option)))
			return true;
	return false;
}

static void shell_put_words(struct tool_list *list, const struct shell_word *const *word,
			    size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (word[i]->plain)
			tool_list_add(list, word[i]->text);
}

/* "cd src && …": the words after it are relative to the new folder. */
static void shell_change_dir(struct tool_list *list, const struct shell_word *const *word,
			     size_t count)
{
	if (count == 1 && word[0]->plain && (list->dir.p || str_starts(word[0]->text, STR("/"))))
		list->dir = path_resolve(&list->c->mem, list->dir, word[0]->text);
	else
		list->dir = STR_NONE;
}

/* Which words of a command are files that it writes. */
static void shell_put_command(struct tool_list *list, const struct shell_command *cmd)
{
	static const char *const words[] = { "rm", "tee", "touch", "mv", "cp", "sed", "cd" };
	static const struct names names = { words, sizeof words / sizeof *words, NULL };
	const struct shell_word *file[WORDS_MOST];
	size_t start = 0, n;

	for (size_t i = 0; i < cmd->count; i++)
		if (cmd->word[i].writes && cmd->word[i].plain)
			tool_list_add(list, cmd->word[i].text);
	while (start < cmd->count &&
	       (cmd->word[start].writes ||
		memchr(cmd->word[start].text.p, '=', cmd->word[start].text.n) ||
		str_is(cmd->word[start].text, "sudo")))
		start++;
	if (start == cmd->count)
		return;
	n = shell_files(cmd, start + 1, file);
	switch (names_exact(&names, path_name(cmd->word[start].text))) {
	case 0:
	case 1:
	case 2:
	case 3:
		shell_put_words(list, file, 0, n);
		break;
	case 4:
		shell_put_words(list, file, n ? n - 1 : 0, n);
		break;
	case 5: /* the first word is the script, unless -e gives it */
		if (shell_has_option(cmd, "-i"))
			shell_put_words(list, file, shell_has_option(cmd, "-e") ? 0 : 1, n);
		break;
	case 6:
		shell_change_dir(list, file, n);
		break;
	default:
		break;
	}
}

struct shell_reader {
	struct str rest;
	struct buf word;
	bool started, plain, writes;
	struct shell_command cmd;
};

static char shell_take(struct shell_reader *r)
{
	char ch = r->rest.p[0];

	r->rest = str_skip(r->rest, 1);
	return ch;
}

static void shell_end_word(struct shell_reader *r)
{
	if (r->started && r->cmd.count < WORDS_MOST) {
		r->cmd.word[r->cmd.count++] =
			(struct shell_word){ arena_copy(r->word.mem, buf_str(&r->word)), r->plain,
					     r->writes };
		r->writes = false;
	}
	r->word.n = 0;
	r->started = false;
	r->plain = true;
}

static void shell_read_quoted(struct shell_reader *r, char quote)
{
	r->started = true;
	while (r->rest.n && r->rest.p[0] != quote) {
		char ch = shell_take(r);

		if (quote == '"' && (ch == '$' || ch == '`'))
			r->plain = false;
		if (quote == '"' && ch == '\\' && r->rest.n)
			ch = shell_take(r);
		buf_char(&r->word, ch);
	}
	if (r->rest.n)
		shell_take(r);
}

/* ">", ">>", "2>", ">|"; ">&2" writes no file. */
static void shell_read_redirect(struct shell_reader *r)
{
	struct str so_far = buf_str(&r->word);

	if (so_far.n == 1 && so_far.p[0] >= '0' && so_far.p[0] <= '9')
		r->started = false;
	shell_end_word(r);
	while (r->rest.n && (r->rest.p[0] == '>' || r->rest.p[0] == '|'))
		shell_take(r);
	if (r->rest.n && r->rest.p[0] == '&')
		shell_take(r);
	else
		r->writes = true;
}

static void shell_read_char(struct shell_reader *r, struct tool_list *list)
{
	char ch = shell_take(r);

	if (ch == '\'' || ch == '"') {
		shell_read_quoted(r, ch);
	} else if (ch == '>') {
		shell_read_redirect(r);
	} else if (ch == ' ' || ch == '\t') {
		shell_end_word(r);
	} else if (strchr(";&|\n()", ch)) {
		shell_end_word(r);
		shell_put_command(list, &r->cmd);
		r->cmd.count = 0;
	} else {
		if (strchr("$`*?[{~<#", ch))
			r->plain = false;
		if (ch == '\\' && r->rest.n)
			ch = shell_take(r);
		r->started = true;
		buf_char(&r->word, ch);
	}
}

/* What follows "<<" is text, which is not parsed. What follows a NUL is never run. */
static void shell_read(struct tool_list *list, struct str command)
{
	struct shell_reader *r = arena_new(&list->c->mem, struct shell_reader);
	const char *here;

	command = str_head(command, strnlen(command.p ? command.p : "", command.n));
	here = str_find(command, STR("<<"));
	r->rest = here ? str_head(command, (size_t)(here - command.p)) : command;
	if (here) { /* "cat <<EOF >file" */
		struct str line = str_skip(command, r->rest.n), head;

		str_next(&line, '\n', &head);
		r->rest = str_head(command, r->rest.n + head.n);
	}
	r->word.mem = &list->c->mem;
	r->plain = true;
	while (r->rest.n)
		shell_read_char(r, list);
	shell_end_word(r);
	shell_put_command(list, &r->cmd);
}

struct guard_path *tool_paths_of_shell(struct call *c, struct str dir, struct str command)
{
	struct tool_list list = { .c = c, .dir = dir };

	list.tail = &list.first;
	shell_read(&list, command);
	return list.first;
}

/* --- tools --- */

/* "*** Update File: src/a.c", the lines of a patch of Codex. */
static void tool_list_add_patch(struct tool_list *list, struct str patch)
{
	static const char *const heads[] = { "*** Update File: ", "*** Add File: ",
					     "*** Delete File: ", "*** Move to: " };
	struct str line;

	while (str_next(&patch, '\n', &line))
		for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
			if (str_starts(line, str_of(heads[i])))
				tool_list_add(list, str_trim(str_skip(line, strlen(heads[i]))));
}

static bool tool_listed(struct str tool, const char *const *list)
{
	for (; *list; list++) {
		size_t i = 0;

		while (i < tool.n && (*list)[i] && (tool.p[i] | 0x20) == ((*list)[i] | 0x20))
			i++;
		if (i == tool.n && !(*list)[i])
			return true;
	}
	return false;
}

/* A command is a text, or a list whose last item is what a shell runs. */
static struct str tool_command(const struct value *input)
{
	const struct value *command = value_find(input, "command");

	if (!command)
		command = value_find(input, "cmd");
	if (command && command->type == VALUE_ARRAY && command->count)
		command = &command->item[command->count - 1];
	return value_text(command);
}

static const char *const writers[] = {
	"Write",
	"Edit",
	"MultiEdit",
	"NotebookEdit",
	"write_file",
	"replace",
	"edit_file",
	"create_file",
	"WriteFile",
	"StrReplaceFile",
	"StrReplace",
	"str_replace_editor",
	"insert_edit_into_file",
	"replace_string_in_file",
	"create",
	"Delete",
	"patch",
	"apply_patch",
	NULL,
};

static const char *const shells[] = {
	"Bash",
	"shell",
	"run_shell_command",
	"run_terminal_cmd",
	"run_in_terminal",
	"local_shell",
	"exec_command",
	NULL,
};

static void tool_list_add_input(struct tool_list *list, const struct value *input)
{
	static const char *const files[] = { "file_path", "filePath", "notebook_path", "path",
					     "target_file" };
	static const char *const patches[] = { "input", "patch", "patchText" };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		tool_list_add(list, value_str(input, files[i]));
	for (size_t i = 0; i < sizeof patches / sizeof *patches; i++)
		tool_list_add_patch(list, value_str(input, patches[i]));
}

struct guard_path *tool_paths(struct call *c, const struct value *in)
{
	const struct value *input = value_find(in, "tool_input");
	struct str tool = value_str(in, "tool_name");
	struct tool_list list = { .c = c, .dir = c->dir };

	list.tail = &list.first;
	if (!input)
		input = value_find(in, "toolArgs");
	if (!tool.p)
		tool = value_str(in, "toolName");
	if (tool_listed(tool, shells)) {
		shell_read(&list, tool_command(input));
		tool_list_add_patch(&list, tool_command(input));
	}
	if (tool_listed(tool, writers)) {
		tool_list_add_input(&list, input);
		tool_list_add_patch(&list, tool_command(input));
	}
	return list.first;
}
