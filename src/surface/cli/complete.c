/*
 * The completion scripts for bash, zsh and fish. A script passes the words of the command line to
 * `PROGRAM __complete`, which prints the candidates (candidates.h), so that all shells offer the
 * same, and a script need not be made again when a command changes.
 */
#include "base/buf.h"
#include "surface/cli/out.h"
#include "surface/docs/docs.h"

enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH };

static const struct names shells =
	NAMES_OF([SHELL_BASH] = "bash", [SHELL_ZSH] = "zsh", [SHELL_FISH] = "fish");

static const struct names programs = NAMES_OF("abacus", "bb", "bd", "vybe");

struct body {
	int shell, program;
};

static const struct field fields[] = {
	{ "shell", &kind_word, offsetof(struct body, shell), FIELD_REQUIRED | FIELD_PLACE,
	  .arg = "SHELL", .words = &shells, .help = "shell" },
	{ "program", &kind_word, offsetof(struct body, program), FIELD_PLACE, .arg = "PROGRAM",
	  .words = &programs, .preset = "abacus", .help = "program" },
	{ 0 },
};

/* PROGRAM stands for the name of the program. */
static const char *const scripts[] = {
	[SHELL_BASH] = "_PROGRAM() {\n"
		       "\tlocal line\n"
		       "\tCOMPREPLY=()\n"
		       "\twhile IFS= read -r line; do\n"
		       "\t\tcase $line in\n"
		       "\t\t:files) compopt -o default 2>/dev/null ;;\n"
		       "\t\t*) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
		       "\t\tesac\n"
		       "\tdone < <(\"${COMP_WORDS[0]/#\\~/$HOME}\" __complete \\\n"
		       "\t\t\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
		       "}\n"
		       "complete -F _PROGRAM PROGRAM\n",
	[SHELL_ZSH] =
		"#compdef PROGRAM\n"
		"_PROGRAM() {\n"
		"\tlocal line files\n"
		"\tlocal -a described\n"
		"\twhile IFS= read -r line; do\n"
		"\t\tcase $line in\n"
		"\t\t:files) files=yes ;;\n"
		"\t\t*) described+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\") ;;\n"
		"\t\tesac\n"
		"\tdone < <(\"${(Q)~words[1]}\" __complete \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)\n"
		"\t(( $#described )) && _describe -V -t PROGRAM PROGRAM described\n"
		"\t[[ -n $files ]] && _files\n"
		"}\n"
		"if [[ $funcstack[1] == _PROGRAM ]]; then _PROGRAM \"$@\"; else compdef _PROGRAM PROGRAM; fi\n",
	[SHELL_FISH] = "function __PROGRAM_complete\n"
		       "\tset -l words (commandline -opc)\n"
		       "\tset -l last (commandline -ct)\n"
		       "\tfor line in ($words[1] __complete $words[2..-1] \"$last\" 2>/dev/null)\n"
		       "\t\tif test \"$line\" = :files\n"
		       "\t\t\t__fish_complete_path $last\n"
		       "\t\telse\n"
		       "\t\t\tprintf '%s\\n' $line\n"
		       "\t\tend\n"
		       "\tend\n"
		       "end\n"
		       "complete -c PROGRAM -k -f -a '(__PROGRAM_complete)'\n",
};

static void complete_script(struct buf *b, const char *script, const char *program)
{
	static const char name[] = "PROGRAM";
	const char *at;

	for (; (at = strstr(script, name)); script = at + sizeof name - 1) {
		buf_put(b, (struct str){ script, (size_t)(at - script) });
		buf_put(b, str_of(program));
	}
	buf_put(b, str_of(script));
}

int completion_start(struct call *c, const struct request *r)
{
	const struct body *in = r->body;
	struct buf b = { .mem = &c->mem };

	complete_script(&b, scripts[in->shell], names_word(&programs, in->program));
	return out_text(&c->mem, buf_str(&b), 0);
}

const struct op op_completion = {
	.name = "completion",
	.help = "Print a completion script",
	.examples = "abacus completion bash bb > ~/.local/share/bash-completion/completions/bb",
	OP_BODY(struct body, fields),
};
