#include "hosts/tool_paths.h"

#include "base/buf.h"

#include "base/system/path.h"
#include "base/text/value.h"

enum { PATHS_MOST = 1000 };

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

/* A word of a command. A word that only a shell can expand, such as "$x", is not plain. */
struct shell_word {
	struct str text;
	bool plain, writes; /* `writes`: it is the target of a `>` */
};

struct shell_command {
	struct shell_word *word;
	size_t count;
};

enum { SHELL_DEPTH_MOST = 4, SHELL_GROUPS_MOST = 16, SHELL_TEXTS_MOST = 8, SHELL_DIR_MOST = 4096 };

static void shell_read(struct tool_list *list, struct str command, int depth);

/* The options of a command are not files; after "--" everything is. */
static size_t shell_files(struct call *c, const struct shell_command *cmd, size_t from,
			  const struct shell_word ***out)
{
	const struct shell_word **file = arena_array(&c->mem, cmd->count + 1, sizeof *file);
	size_t n = 0;
	bool options = true;

	for (size_t i = from; i < cmd->count; i++) {
		const struct shell_word *w = &cmd->word[i];

		if (w->writes)
			continue;
		if (options && str_is(w->text, "--"))
			options = false;
		else if (!options || !w->text.n || w->text.p[0] != '-')
			file[n++] = w;
	}
	*out = file;
	return n;
}

/* Is there "-i", "-i.bak", or "-Ei"; or the long form? */
static bool shell_has_option(const struct shell_command *cmd, char letter, const char *name)
{
	for (size_t i = 1; i < cmd->count; i++) {
		struct str w = cmd->word[i].text;

		if (w.n > 1 && w.p[0] == '-' && w.p[1] != '-' && memchr(w.p, letter, w.n))
			return true;
		if (str_starts(w, str_of(name)))
			return true;
	}
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
	if (list->dir.n > SHELL_DIR_MOST)
		list->dir = STR_NONE;
}

/* Words before the name of the command: "sudo", "then", "A=1", or the target of a redirection. */
static bool shell_is_prefix(const struct shell_word *w)
{
	static const char *const words[] = { "sudo", "env",   "command", "builtin", "exec", "nohup",
					     "time", "nice",  "then",    "do",      "else", "if",
					     "elif", "while", "until",   "{",       "!",    NULL };

	for (const char *const *one = words; *one; one++)
		if (str_is(w->text, *one))
			return true;
	return w->writes || memchr(w->text.p, '=', w->text.n);
}

static size_t shell_start(const struct shell_command *cmd)
{
	size_t start = 0;

	while (start < cmd->count && (shell_is_prefix(&cmd->word[start]) ||
				      (start && str_starts(cmd->word[start].text, STR("-")))))
		start++;
	return start;
}

/* What the words of a command mean. */
enum shell_kind {
	SHELL_ALL,
	SHELL_LAST,
	SHELL_SED,
	SHELL_DD,
	SHELL_GIT,
	SHELL_CD,
	SHELL_RUN,
	SHELL_OTHER
};

static enum shell_kind shell_kind_of(struct str name)
{
	static const struct {
		const char *name;
		enum shell_kind kind;
	} known[] = {
		{ "rm", SHELL_ALL },   { "tee", SHELL_ALL },    { "touch", SHELL_ALL },
		{ "mv", SHELL_ALL },   { "unlink", SHELL_ALL }, { "rmdir", SHELL_ALL },
		{ "cp", SHELL_LAST },  { "ln", SHELL_LAST },    { "install", SHELL_LAST },
		{ "sed", SHELL_SED },  { "dd", SHELL_DD },      { "truncate", SHELL_ALL },
		{ "cd", SHELL_CD },    { "pushd", SHELL_CD },   { "popd", SHELL_CD },
		{ "bash", SHELL_RUN }, { "sh", SHELL_RUN },     { "zsh", SHELL_RUN },
		{ "dash", SHELL_RUN }, { "git", SHELL_GIT },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (str_is(name, known[i].name))
			return known[i].kind;
	return SHELL_OTHER;
}

/* "of=FILE" */
static void shell_put_dd(struct tool_list *list, const struct shell_word *const *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (word[i]->plain && str_starts(word[i]->text, STR("of=")))
			tool_list_add(list, str_skip(word[i]->text, 3));
}

/*
 * "git rm", "git mv", "git restore FILE" and "git checkout … -- FILE". Other words of "git
 * checkout" may be branches, and "git restore --staged" changes the index alone.
 */
static void shell_put_git(struct tool_list *list, const struct shell_command *cmd, size_t at)
{
	const struct shell_word **file;
	struct str verb = at < cmd->count ? cmd->word[at].text : STR("");
	bool staged =
		shell_has_option(cmd, 'S', "--staged") && !shell_has_option(cmd, 'W', "--worktree");
	size_t n;

	if (str_is(verb, "checkout"))
		while (at < cmd->count && !str_is(cmd->word[at].text, "--"))
			at++;
	else if (!str_is(verb, "rm") && !str_is(verb, "mv") && (!str_is(verb, "restore") || staged))
		return;
	n = shell_files(list->c, cmd, at + 1, &file);
	shell_put_words(list, file, 0, n);
}

/* Which words of a command are files that it writes. */
static void shell_put_command(struct tool_list *list, const struct shell_command *cmd, int depth)
{
	const struct shell_word **file;
	size_t start = shell_start(cmd), n;

	for (size_t i = 0; i < cmd->count; i++)
		if (cmd->word[i].writes && cmd->word[i].plain)
			tool_list_add(list, cmd->word[i].text);
	if (start == cmd->count)
		return;
	n = shell_files(list->c, cmd, start + 1, &file);
	switch (shell_kind_of(path_name(cmd->word[start].text))) {
	case SHELL_ALL:
		shell_put_words(list, file, 0, n);
		break;
	case SHELL_LAST:
		shell_put_words(list, file, n ? n - 1 : 0, n);
		break;
	case SHELL_SED: /* the first word is the script, unless -e gives it */
		if (shell_has_option(cmd, 'i', "--in-place"))
			shell_put_words(list, file,
					shell_has_option(cmd, 'e', "--expression") ? 0 : 1, n);
		break;
	case SHELL_DD:
		shell_put_dd(list, file, n);
		break;
	case SHELL_GIT:
		shell_put_git(list, cmd, start + 1);
		break;
	case SHELL_CD:
		shell_change_dir(list, file, n);
		break;
	case SHELL_RUN:
		if (n && file[0]->plain && shell_has_option(cmd, 'c', "-c") &&
		    depth < SHELL_DEPTH_MOST)
			shell_read(list, file[0]->text, depth + 1);
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
	struct str dirs[SHELL_GROUPS_MOST]; /* of the groups around this one */
	int groups, depth;
	struct str texts[SHELL_TEXTS_MOST]; /* the ends of here-documents after this line */
	size_t text_count;
};

static char shell_take(struct shell_reader *r)
{
	char ch = r->rest.p[0];

	r->rest = str_skip(r->rest, 1);
	return ch;
}

static bool shell_next_is(const struct shell_reader *r, const char *any)
{
	return r->rest.n && r->rest.p[0] && strchr(any, r->rest.p[0]);
}

static void shell_end_word(struct shell_reader *r)
{
	struct shell_command *cmd = &r->cmd;

	if (r->started) {
		cmd->word = arena_room(r->word.mem, cmd->word, cmd->count, sizeof *cmd->word);
		cmd->word[cmd->count++] =
			(struct shell_word){ arena_copy(r->word.mem, buf_str(&r->word)), r->plain,
					     r->writes };
		r->writes = false;
	}
	r->word.n = 0;
	r->started = false;
	r->plain = true;
}

static void shell_end_command(struct shell_reader *r, struct tool_list *list)
{
	shell_end_word(r);
	shell_put_command(list, &r->cmd, r->depth);
	r->cmd = (struct shell_command){ 0 };
	r->writes = false;
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

/* ">", ">>", "2>", ">|", ">&file"; ">&2" writes no file. */
static void shell_read_redirect(struct shell_reader *r)
{
	struct str so_far = buf_str(&r->word);

	if (so_far.n && so_far.n <= 3 &&
	    strspn(arena_cstr(r->word.mem, so_far), "0123456789") == so_far.n)
		r->started = false;
	shell_end_word(r);
	while (shell_next_is(r, ">|"))
		shell_take(r);
	r->writes = true;
	if (shell_next_is(r, "&")) {
		shell_take(r);
		r->writes = !shell_next_is(r, "0123456789-");
		while (shell_next_is(r, "0123456789-"))
			shell_take(r);
	}
}

/* "<<EOF": the lines after this one, up to EOF, are text. "<<<" is followed by a word. */
static void shell_read_input(struct shell_reader *r)
{
	struct str end;
	struct buf word = { .mem = r->word.mem };

	shell_end_word(r);
	if (!shell_next_is(r, "<"))
		return;
	shell_take(r);
	if (shell_next_is(r, "<")) {
		shell_take(r);
		return;
	}
	if (shell_next_is(r, "-"))
		shell_take(r);
	while (shell_next_is(r, " \t"))
		shell_take(r);
	while (r->rest.n && !shell_next_is(r, " \t\n;&|()<>")) {
		char ch = shell_take(r);

		if (!strchr("'\"\\", ch))
			buf_char(&word, ch);
	}
	end = buf_str(&word);
	if (end.n && r->text_count < SHELL_TEXTS_MOST)
		r->texts[r->text_count++] = end;
}

/* Skips the here-documents that begin after this line. */
static void shell_skip_texts(struct shell_reader *r)
{
	for (size_t i = 0; i < r->text_count; i++) {
		struct str line;

		while (str_next(&r->rest, '\n', &line) && !str_eq(str_trim(line), r->texts[i]))
			;
	}
	r->text_count = 0;
}

/* A folder that was changed in a group is forgotten at its end. */
static void shell_read_group(struct shell_reader *r, struct tool_list *list, char ch)
{
	if (ch == '(' && r->groups++ < SHELL_GROUPS_MOST)
		r->dirs[r->groups - 1] = list->dir;
	else if (ch == ')' && r->groups && --r->groups < SHELL_GROUPS_MOST)
		list->dir = r->dirs[r->groups];
}

static void shell_read_char(struct shell_reader *r, struct tool_list *list)
{
	struct str line;
	char ch = shell_take(r);

	if (ch == '\'' || ch == '"') {
		shell_read_quoted(r, ch);
	} else if (ch == '>') {
		shell_read_redirect(r);
	} else if (ch == '<') {
		shell_read_input(r);
	} else if (ch == ' ' || ch == '\t') {
		shell_end_word(r);
	} else if (ch == '#' && !r->started) {
		str_next(&r->rest, '\n', &line);
		shell_end_command(r, list);
	} else if (strchr(";&|\n()", ch)) {
		shell_end_command(r, list);
		shell_read_group(r, list, ch);
		if (ch == '\n')
			shell_skip_texts(r);
	} else if (ch == '\\' && shell_next_is(r, "\n")) {
		shell_take(r); /* the line goes on */
	} else {
		if (strchr("$`*?[{~", ch))
			r->plain = false;
		if (ch == '\\' && r->rest.n)
			ch = shell_take(r);
		r->started = true;
		buf_char(&r->word, ch);
	}
}

/* What follows a NUL is never run. */
static void shell_read(struct tool_list *list, struct str command, int depth)
{
	struct shell_reader *r = arena_new(&list->c->mem, struct shell_reader);

	r->rest = str_head(command, strnlen(command.p ? command.p : "", command.n));
	r->word.mem = &list->c->mem;
	r->plain = true;
	r->depth = depth;
	while (r->rest.n)
		shell_read_char(r, list);
	shell_end_command(r, list);
}

struct guard_path *tool_paths_of_shell(struct call *c, struct str dir, struct str command)
{
	struct tool_list list = { .c = c, .dir = dir };

	list.tail = &list.first;
	shell_read(&list, command, 0);
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
		shell_read(&list, tool_command(input), 0);
		tool_list_add_patch(&list, tool_command(input));
	}
	if (tool_listed(tool, writers)) {
		tool_list_add_input(&list, input);
		tool_list_add_patch(&list, tool_command(input));
	}
	return list.first;
}
