#include "base/system/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/system/path.h"
#include "unit/test.h"

/* Each test has a call and a folder of its own. */
struct place {
	struct call c;
	char dir[sizeof "/tmp/file_test.XXXXXX"];
	struct rlimit limit;
};

static int enter(void **state)
{
	struct place *at = calloc(1, sizeof *at);

	memcpy(at->dir, "/tmp/file_test.XXXXXX", sizeof at->dir);
	*state = at;
	getrlimit(RLIMIT_FSIZE, &at->limit);
	return mkdtemp(at->dir) ? 0 : -1;
}

static int leave(void **state)
{
	struct place *at = *state;
	enum err e = file_remove_tree(&at->c, str_of(at->dir));

	setrlimit(RLIMIT_FSIZE, &at->limit);
	signal(SIGXFSZ, SIG_DFL);
	call_release(&at->c);
	free(at);
	return e ? -1 : 0;
}

static struct str in(struct place *at, const char *name)
{
	return path_join(&at->c.mem, str_of(at->dir), str_of(name));
}

/* From now on no file may become larger; writing more fails half way. */
static void limit_size(struct place *at, rlim_t bytes)
{
	struct rlimit small = { bytes, at->limit.rlim_max };

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
}

static void unlimit_size(struct place *at)
{
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &at->limit), 0);
}

static void put(struct place *at, const char *name, const char *content)
{
	assert_int_equal(file_replace(&at->c, in(at, name), str_of(content), 0644), 0);
}

static void assert_file(struct place *at, const char *name, const char *content)
{
	struct str got;

	assert_int_equal(file_read(&at->c, in(at, name), &got), ERR_OK);
	assert_str(got, content);
}

static int count_entries(struct place *at)
{
	DIR *dir = opendir(at->dir);
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2; /* "." and ".." */
}

static mode_t mode_of(struct place *at, const char *name)
{
	struct stat st;

	assert_int_equal(stat(in(at, name).p, &st), 0);
	return st.st_mode & 07777;
}

static bool is_link(struct place *at, const char *name)
{
	struct stat st;

	return lstat(in(at, name).p, &st) == 0 && S_ISLNK(st.st_mode);
}

static void file_read_tells_absent_from_empty(void **state)
{
	struct place *at = *state;
	struct str got;

	assert_int_equal(file_read(&at->c, in(at, "none"), &got), ERR_OK);
	assert_null(got.p);
	put(at, "empty", "");
	assert_file(at, "empty", "");
	assert_int_equal(file_read(&at->c, in(at, "empty/below"), &got), ERR_OK);
	assert_null(got.p);
	assert_int_equal(file_read(&at->c, str_of(at->dir), &got), ERR_INTERNAL_ERROR);
	assert_true(str_starts(at->c.message, STR("cannot read '/tmp/file_test.")));
}

static void file_read_gives_every_byte(void **state)
{
	struct place *at = *state;
	struct buf b = { .mem = &at->c.mem };
	struct str got;

	for (int i = 0; i < 300000; i++)
		buf_char(&b, (char)(i * 7));
	assert_int_equal(file_replace(&at->c, in(at, "f"), buf_str(&b), 0600), ERR_OK);
	assert_int_equal(file_read(&at->c, in(at, "f"), &got), ERR_OK);
	assert_true(str_eq(got, buf_str(&b)));
	assert_int_equal(got.p[got.n], '\0');
}

static void file_read_gives_all_of_a_file_whatever_its_size(void **state)
{
	static const size_t size[] = { 1, 255, 256, 65535, 65536, 65537, 200000 };
	struct place *at = *state;

	for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
		struct str path = path_join(&at->c.mem, str_of(at->dir), STR("sized")), got;
		struct buf b = { .mem = &at->c.mem };

		for (size_t n = 0; n < size[i]; n++)
			buf_char(&b, (char)(n % 251));
		assert_int_equal(file_replace(&at->c, path, buf_str(&b), 0600), ERR_OK);
		assert_int_equal(file_read(&at->c, path, &got), ERR_OK);
		assert_true(str_eq(got, buf_str(&b)));
		assert_int_equal(got.p[got.n], '\0');
	}
}

/* Linux makes its content while it is read, a page at a time. */
static void file_read_gives_all_of_a_file_without_a_size(void **state)
{
	struct place *at = *state;
	struct str got;
	char *line = NULL;
	size_t room = 0, n = 0;
	FILE *file = fopen("/proc/self/mountinfo", "r");

	if (!file)
		return;
	while (getline(&line, &room, file) > 0)
		n += strlen(line);
	fclose(file);
	free(line);
	assert_int_equal(file_read(&at->c, STR("/proc/self/mountinfo"), &got), ERR_OK);
	assert_int_equal(got.n, n);
}

static void file_read_refuses_what_is_too_large(void **state)
{
	struct place *at = *state;
	struct str got;

	put(at, "f", "");
	assert_int_equal(truncate(in(at, "f").p, (off_t)FILE_MOST + 1), 0);
	assert_int_equal(file_read(&at->c, in(at, "f"), &got), ERR_INVALID_INPUT);
	assert_null(got.p);
	assert_int_equal(truncate(in(at, "f").p, FILE_MOST), 0);
	assert_int_equal(file_read(&at->c, in(at, "f"), &got), ERR_OK);
	assert_int_equal(got.n, FILE_MOST);
}

static void file_replace_keeps_the_mode_of_what_was_there(void **state)
{
	struct place *at = *state;
	mode_t mask = umask(0077);

	assert_int_equal(file_replace(&at->c, in(at, "f"), STR("1"), 0644), ERR_OK);
	assert_int_equal(mode_of(at, "f"), 0600); /* a new file: as the umask allows */
	assert_int_equal(chmod(in(at, "f").p, 0751), 0);
	assert_int_equal(file_replace(&at->c, in(at, "f"), STR("2"), 0600), ERR_OK);
	umask(mask);
	assert_int_equal(mode_of(at, "f"), 0751);
	assert_file(at, "f", "2");
	assert_int_equal(count_entries(at), 1);
}

static void file_replace_keeps_a_link_a_link(void **state)
{
	static const struct {
		const char *link, *to;
	} row[] = {
		{ "near", "real" },      { "chain", "near" },           { "far", "sub/real" },
		{ "up", "sub/up-link" }, { "dangling", "sub/not-yet" }, { "twice", "dangling2" },
	};
	struct place *at = *state;

	assert_int_equal(file_make_dir(&at->c, in(at, "sub"), 0755), ERR_OK);
	assert_int_equal(symlink("../real", in(at, "sub/up-link").p), 0);
	assert_int_equal(symlink("sub/not-yet-either", in(at, "dangling2").p), 0);
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		assert_int_equal(symlink(row[i].to, in(at, row[i].link).p), 0);
		put(at, row[i].link, row[i].link);
		assert_true(is_link(at, row[i].link));
		assert_file(at, row[i].to, row[i].link);
	}
	assert_true(is_link(at, "sub/up-link"));
	assert_true(is_link(at, "dangling2"));
	assert_file(at, "sub/not-yet", "dangling");
	assert_file(at, "sub/not-yet-either", "twice");
}

static void file_replace_follows_a_link_with_an_absolute_target(void **state)
{
	struct place *at = *state;

	put(at, "real", "old");
	assert_int_equal(symlink(in(at, "real").p, in(at, "link").p), 0);
	put(at, "link", "new");
	assert_true(is_link(at, "link"));
	assert_file(at, "real", "new");
}

static void file_replace_leaves_nothing_when_it_fails(void **state)
{
	struct place *at = *state;
	enum err e;

	put(at, "f", "old");
	limit_size(at, 4096);
	e = file_replace(&at->c, in(at, "f"), (struct str){ arena_alloc(&at->c.mem, 10000), 10000 },
			 0600);
	unlimit_size(at);
	assert_int_equal(e, ERR_INTERNAL_ERROR);
	assert_true(str_starts(at->c.message, STR("cannot write '")));
	assert_file(at, "f", "old");
	assert_int_equal(count_entries(at), 1);

	/* nor when the last step fails */
	assert_int_equal(file_make_dir(&at->c, in(at, "d/full"), 0755), ERR_OK);
	e = file_replace(&at->c, in(at, "d"), STR("x"), 0600);
	assert_int_equal(e, ERR_INTERNAL_ERROR);
	assert_true(str_starts(at->c.message, STR("cannot replace '")));
	assert_true(file_is_dir(&at->c.mem, in(at, "d/full")));
	assert_int_equal(count_entries(at), 2);
}

static void file_replace_refuses_what_is_not_a_regular_file(void **state)
{
	struct place *at = *state;

	assert_int_equal(mkfifo(in(at, "pipe").p, 0600), 0);
	assert_int_equal(symlink("pipe", in(at, "link").p), 0);
	for (int i = 0; i < 3; i++) {
		enum err e =
			i == 2 ? file_own_replace(&at->c, in(at, "pipe"), STR("x"), 0600) :
				 file_replace(&at->c, in(at, i ? "link" : "pipe"), STR("x"), 0600);

		assert_int_equal(e, ERR_INTERNAL_ERROR);
		assert_true(str_has(at->c.message, STR("/pipe': it is not a regular file")));
		assert_int_equal(count_entries(at), 2);
	}
}

static void file_replace_needs_the_folder(void **state)
{
	struct place *at = *state;

	assert_int_equal(file_replace(&at->c, in(at, "no/f"), STR("x"), 0600), ERR_INTERNAL_ERROR);
	assert_true(str_ends(at->c.message, STR("No such file or directory")));
	assert_int_equal(count_entries(at), 0);
}

static void file_append_adds_at_the_end(void **state)
{
	struct place *at = *state;

	assert_int_equal(file_append(&at->c, in(at, "log"), STR("one\n"), 0600), ERR_OK);
	assert_int_equal(mode_of(at, "log"), 0600);
	assert_int_equal(file_append(&at->c, in(at, "log"), STR("two\n"), 0644), ERR_OK);
	assert_int_equal(file_append(&at->c, in(at, "log"), STR(""), 0644), ERR_OK);
	assert_int_equal(mode_of(at, "log"), 0600);
	assert_file(at, "log", "one\ntwo\n");
	assert_int_equal(file_append(&at->c, in(at, "no/log"), STR("x"), 0600), ERR_INTERNAL_ERROR);
}

static void file_append_adds_all_or_nothing(void **state)
{
	struct place *at = *state;
	enum err e;

	put(at, "log", "one\n");
	limit_size(at, 100);
	e = file_append(&at->c, in(at, "log"), (struct str){ arena_alloc(&at->c.mem, 1000), 1000 },
			0600);
	unlimit_size(at);
	assert_int_equal(e, ERR_INTERNAL_ERROR);
	assert_file(at, "log", "one\n");
}

static void file_make_dir_makes_the_parents(void **state)
{
	struct place *at = *state;

	assert_int_equal(file_make_dir(&at->c, in(at, "a/b/c"), 0700), ERR_OK);
	assert_int_equal(mode_of(at, "a"), 0700);
	assert_int_equal(mode_of(at, "a/b/c"), 0700);
	assert_int_equal(file_make_dir(&at->c, in(at, "a/b/c"), 0700), ERR_OK);
	assert_int_equal(file_make_dir(&at->c, in(at, "a/b/d/"), 0700), ERR_OK);
	assert_true(file_is_dir(&at->c.mem, in(at, "a/b/d")));
	assert_int_equal(symlink("a", in(at, "link").p), 0);
	assert_int_equal(file_make_dir(&at->c, in(at, "link"), 0700), ERR_OK);
	assert_int_equal(file_make_dir(&at->c, in(at, "link/e"), 0700), ERR_OK);
	assert_true(file_is_dir(&at->c.mem, in(at, "a/e")));
}

static void file_make_dir_does_not_take_another_thing_for_a_folder(void **state)
{
	struct place *at = *state;

	put(at, "f", "");
	assert_int_equal(symlink("nowhere", in(at, "dangling").p), 0);
	assert_int_equal(file_make_dir(&at->c, in(at, "f"), 0700), ERR_INTERNAL_ERROR);
	assert_int_equal(file_make_dir(&at->c, in(at, "f/d"), 0700), ERR_INTERNAL_ERROR);
	assert_int_equal(file_make_dir(&at->c, in(at, "dangling"), 0700), ERR_INTERNAL_ERROR);
	assert_int_equal(file_make_dir(&at->c, in(at, "dangling/d"), 0700), ERR_INTERNAL_ERROR);
	assert_int_equal(file_make_dir(&at->c, STR(""), 0700), ERR_INTERNAL_ERROR);
}

static void file_exists_asks_for_any_kind(void **state)
{
	struct place *at = *state;
	struct arena *mem = &at->c.mem;

	put(at, "f", "");
	assert_int_equal(symlink("nowhere", in(at, "dangling").p), 0);
	assert_true(file_exists(mem, in(at, "f")));
	assert_true(file_exists(mem, str_of(at->dir)));
	assert_false(file_exists(mem, in(at, "none")));
	assert_false(file_exists(mem, in(at, "dangling")));
	assert_false(file_is_dir(mem, in(at, "f")));
	assert_true(file_is_dir(mem, str_of(at->dir)));
	assert_false(file_is_dir(mem, in(at, "none")));
}

static void file_remove_tree_does_not_follow_links(void **state)
{
	struct place *at = *state;

	assert_int_equal(file_make_dir(&at->c, in(at, "keep/deep"), 0755), ERR_OK);
	assert_int_equal(file_make_dir(&at->c, in(at, "tree/a/b"), 0755), ERR_OK);
	put(at, "keep/deep/f", "kept");
	put(at, "tree/a/f", "x");
	put(at, "tree/.hidden", "x");
	assert_int_equal(symlink("../../keep", in(at, "tree/a/out").p), 0);
	assert_int_equal(symlink("../keep/deep/f", in(at, "tree/file-out").p), 0);
	assert_int_equal(symlink("nowhere", in(at, "tree/dangling").p), 0);
	assert_int_equal(symlink(".", in(at, "tree/loop").p), 0);

	assert_int_equal(file_remove_tree(&at->c, in(at, "tree")), ERR_OK);
	assert_false(file_exists(&at->c.mem, in(at, "tree")));
	assert_file(at, "keep/deep/f", "kept");

	/* a link to a folder is removed as a link; what is not there is no failure */
	assert_int_equal(symlink("keep", in(at, "link").p), 0);
	assert_int_equal(file_remove_tree(&at->c, in(at, "link")), ERR_OK);
	assert_int_equal(file_remove_tree(&at->c, in(at, "link")), ERR_OK);
	assert_file(at, "keep/deep/f", "kept");
	assert_int_equal(count_entries(at), 1);
}

static void file_write_and_some_pass_bytes_through_a_pipe(void **state)
{
	char got[8];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);

	AUTO_FD from = ends[0], to = ends[1];

	assert_true(file_write(to, STR("a\0b")));
	assert_int_equal(file_some(from, got, sizeof got), 3);
	assert_memory_equal(got, "a\0b", 3);
	file_close(&to);
	assert_int_equal(to, -1);
	assert_int_equal(file_some(from, got, sizeof got), 0);
	assert_false(file_write(to, STR("x")));
	assert_int_equal(file_some(to, got, sizeof got), -1);
}

/* What the functions for own files make of a link, and of a FIFO, at that path. */
static void try_own(struct place *at, struct str path, enum err want)
{
	struct str text = STR("kept"), got;

	assert_int_equal(file_own_check(&at->c, path), want);
	assert_int_equal(file_own_read(&at->c, path, &got), want);
	assert_int_equal(file_read_part(&at->c, path, 0, 0, &got), want);
	assert_int_equal(file_append(&at->c, path, text, 0600), want);
	assert_int_equal(file_cut(&at->c, path, 0), want);
	assert_int_equal(file_own_open(&at->c.mem, path, O_RDWR | O_CREAT, 0600), -1);
}

static void own_files_are_not_opened_through_a_link(void **state)
{
	struct place *at = *state;
	struct str real = in(at, "real"), link = in(at, "link"), got;

	assert_int_equal(file_own_replace(&at->c, real, STR("old"), 0600), ERR_OK);
	assert_int_equal(symlink(real.p, link.p), 0);
	try_own(at, link, ERR_UNSAFE_PATH);
	assert_int_equal(file_own_read(&at->c, real, &got), ERR_OK);
	assert_str(got, "old");
}

static void own_files_are_regular_files(void **state)
{
	struct place *at = *state;
	struct str fifo = in(at, "fifo");

	assert_int_equal(mkfifo(fifo.p, 0600), 0);
	try_own(at, fifo, ERR_INTERNAL_ERROR);
}

static void a_new_own_file_takes_the_place_of_a_link(void **state)
{
	struct place *at = *state;
	struct str real = in(at, "real"), link = in(at, "link"), temp = in(at, "temp"),
		   text = STR("new"), got;

	assert_int_equal(file_own_replace(&at->c, real, STR("old"), 0600), ERR_OK);
	assert_int_equal(symlink(real.p, link.p), 0);
	assert_int_equal(symlink(real.p, temp.p), 0);
	assert_int_equal(file_swap(&at->c, link, temp, &text, 1), ERR_OK);
	assert_false(path_is_link(&at->c.mem, link));
	assert_int_equal(unlink(link.p), 0);
	assert_int_equal(symlink(real.p, link.p), 0);
	assert_int_equal(file_own_replace(&at->c, link, text, 0600), ERR_OK);
	assert_false(path_is_link(&at->c.mem, link));
	assert_int_equal(file_own_read(&at->c, real, &got), ERR_OK);
	assert_str(got, "old");
}

static void file_look_tells_nothing_from_a_failed_look(void **state)
{
	struct place *at = *state;
	struct call *c = &at->c;
	struct file_found found;

	assert_int_equal(file_look(c, in(at, "none"), &found), ERR_OK);
	assert_true(found.kind == FILE_NONE && found.size == -1);
	assert_int_equal(file_look(c, in(at, "none/below"), &found), ERR_OK);
	assert_int_equal(symlink(".", in(at, "link").p), 0);
	assert_int_equal(file_look(c, in(at, "link"), &found), ERR_OK);
	assert_true(found.kind == FILE_FOLDER);
	assert_int_equal(symlink("loop", in(at, "loop").p), 0);
	assert_int_equal(file_look(c, in(at, "loop"), &found), ERR_UNSAFE_PATH);
	assert_int_equal(symlink("none", in(at, "dangling").p), 0);
	assert_int_equal(file_look(c, in(at, "dangling"), &found), ERR_OK);
	assert_true(found.kind == FILE_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int file_group(void)
{
	const struct CMUnitTest tests[] = {
		TEST(file_read_tells_absent_from_empty),
		TEST(file_read_gives_every_byte),
		TEST(file_read_gives_all_of_a_file_whatever_its_size),
		TEST(file_read_gives_all_of_a_file_without_a_size),
		TEST(file_read_refuses_what_is_too_large),
		TEST(file_replace_keeps_the_mode_of_what_was_there),
		TEST(file_replace_keeps_a_link_a_link),
		TEST(file_replace_follows_a_link_with_an_absolute_target),
		TEST(file_replace_leaves_nothing_when_it_fails),
		TEST(file_replace_refuses_what_is_not_a_regular_file),
		TEST(file_replace_needs_the_folder),
		TEST(own_files_are_not_opened_through_a_link),
		TEST(own_files_are_regular_files),
		TEST(a_new_own_file_takes_the_place_of_a_link),
		TEST(file_append_adds_at_the_end),
		TEST(file_append_adds_all_or_nothing),
		TEST(file_make_dir_makes_the_parents),
		TEST(file_make_dir_does_not_take_another_thing_for_a_folder),
		TEST(file_exists_asks_for_any_kind),
		TEST(file_look_tells_nothing_from_a_failed_look),
		TEST(file_remove_tree_does_not_follow_links),
		cmocka_unit_test(file_write_and_some_pass_bytes_through_a_pipe),
	};

	return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
