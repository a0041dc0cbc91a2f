#include "base/system/path.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/test.h"

#define COUNT(row) (sizeof(row) / sizeof *(row))

static void path_join_puts_one_slash(void **state)
{
	static const struct {
		const char *dir, *name, *want;
	} row[] = {
		{ "/a", "b", "/a/b" }, { "/a/", "b", "/a/b" },  { "/", "b", "/b" },
		{ ".", "b", "./b" },   { "a", "b/c", "a/b/c" }, { "/a", "", "/a/" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		assert_str(path_join(&mem, str_of(row[i].dir), str_of(row[i].name)), row[i].want);
	arena_release(&mem);
}

static void path_resolve_leaves_no_dots(void **state)
{
	static const struct {
		const char *base, *path, *want;
	} row[] = {
		{ "/repo", "src", "/repo/src" },
		{ "/repo", "", "/repo" },
		{ "/repo", ".", "/repo" },
		{ "/repo", "./src/./x", "/repo/src/x" },
		{ "/repo", "..", "/" },
		{ "/repo", "../..", "/" },
		{ "/repo", "../../../../etc/passwd", "/etc/passwd" },
		{ "/repo", "src/../doc", "/repo/doc" },
		{ "/repo", "src//lib///x/", "/repo/src/lib/x" },
		{ "/repo", "/etc/hosts", "/etc/hosts" },
		{ "/repo", "/", "/" },
		{ "/repo", "//", "/" },
		{ "/repo", "/..", "/" },
		{ "/repo", "/../x", "/x" },
		{ "/repo", "/a/../../b", "/b" },
		{ "/repo", "...", "/repo/..." },
		{ "/repo", "..x", "/repo/..x" },
		{ "/repo", ".x/.", "/repo/.x" },
		{ "/repo", "a/b/c/../../..", "/repo" },
		{ "/", "x", "/x" },
		{ "/repo/", "x", "/repo/x" },
		{ "/a/../b", "x", "/b/x" },
		{ "rel", "x", "/rel/x" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		struct str got = path_resolve(&mem, str_of(row[i].base), str_of(row[i].path));

		assert_str(got, row[i].want);
		assert_int_equal(got.p[got.n], '\0');
		assert_str(path_resolve(&mem, STR("/other"), got), row[i].want);
	}
	arena_release(&mem);
}

static void path_splits_into_parent_and_name(void **state)
{
	static const struct {
		const char *path, *parent, *name;
	} row[] = {
		{ "/a/b", "/a", "b" },  { "/a", "/", "a" },    { "/", "/", "" },
		{ "a", ".", "a" },      { "a/b", "a", "b" },   { "/a/b/c", "/a/b", "c" },
		{ "/a//b", "/a", "b" }, { "a/b/", "a/b", "" }, { "//a", "/", "a" },
		{ "", ".", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		assert_str(path_parent(str_of(row[i].path)), row[i].parent);
		assert_str(path_name(str_of(row[i].path)), row[i].name);
	}
}

static void path_within_compares_whole_names(void **state)
{
	static const struct {
		const char *dir, *path;
		bool within;
	} row[] = {
		{ "/a", "/a", true },    { "/a", "/a/b", true },  { "/a", "/a/b/c", true },
		{ "/a", "/ab", false },  { "/a", "/", false },    { "/a", "/b", false },
		{ "/a/b", "/a", false }, { "/", "/", true },      { "/", "/a", true },
		{ "/a/", "/a/b", true }, { "a", "a/b", true },    { "a", "ab", false },
		{ "a", "a", true },      { "/A", "/a/b", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		if (path_within(str_of(row[i].dir), str_of(row[i].path)) != row[i].within)
			fail_msg("%s in %s", row[i].path, row[i].dir);
}

static void path_real_follows_links_and_knows_what_is_not_there(void **state)
{
	char dir[] = "/tmp/path_test.XXXXXX";
	struct arena mem = { 0 };
	struct str real, link, gone;

	(void)state;
	assert_non_null(mkdtemp(dir));
	link = arena_fmt(&mem, "%s/link", dir);
	gone = arena_fmt(&mem, "%s/gone", dir);
	assert_int_equal(symlink(".", link.p), 0);
	assert_int_equal(symlink("nowhere", gone.p), 0);

	real = path_real(&mem, str_of(dir));
	assert_non_null(real.p);
	assert_true(str_eq(path_real(&mem, link), real));
	assert_null(path_real(&mem, gone).p);
	assert_null(path_real(&mem, arena_fmt(&mem, "%s/none", dir)).p);
	assert_null(path_real(&mem, STR("")).p);
	assert_null(path_real(&mem, STR("/\0")).p); /* not a path at all */

	unlink(link.p);
	unlink(gone.p);
	rmdir(dir);
	arena_release(&mem);
}

static void path_real_beside_gives_what_path_real_gives(void **state)
{
	static const char *const known[] = { "", "/", "/a", "/a/b", "/a/bc", "/ab" };
	static const char *const path[] = { "",          "/",        "/a",           "/a/b",
					    "/a/b/c",    "/a/in",    "/a/in/c",      "/a/in/../b",
					    "/a/out",    "/a/out/b", "/a/./b",       "/a//b",
					    "/a/b/",     "/a/none",  "/a/none/x",    "/a/b/../../x",
					    "/a/file/x", "/link",    "/link/b/c",    "/a/b/c/up",
					    "/ab",       "/a/b/c/.", "/a/b/c/up/in", "/a/gone" };
	char dir[] = "/tmp/path_test.XXXXXX";
	struct arena mem = { 0 };
	struct str top;

	(void)state;
	assert_non_null(mkdtemp(dir));
	top = path_real(&mem, str_of(dir));
	assert_int_equal(chdir(top.p), 0);
	assert_int_equal(mkdir("a", 0700) | mkdir("a/b", 0700) | mkdir("a/b/c", 0700) |
				 mkdir("ab", 0700) | mkdir("a/bc", 0700),
			 0);
	assert_int_equal(symlink("b", "a/in") | symlink("/tmp", "a/out") | symlink("a", "link") |
				 symlink("../..", "a/b/c/up") | symlink("nowhere", "a/gone") |
				 mkfifo("a/file", 0600),
			 0);
	for (size_t i = 0; i < COUNT(known); i++)
		for (size_t k = 0; k < COUNT(path); k++) {
			struct str given = arena_join(&mem, top, str_of(path[k])),
				   folder = arena_join(&mem, top, str_of(known[i]));
			struct str want = path_real(&mem, given),
				   got = path_real_beside(&mem, folder, given);

			if (!got.p != !want.p || !str_eq(got, want))
				fail_msg("%s beside %s: %s", path[k], known[i], got.p);
		}
	assert_null(path_real_beside(&mem, top, STR("/\0")).p);
	assert_true(str_eq(path_real_beside(&mem, STR_NONE, top), top));
	assert_true(str_eq(path_real_beside(&mem, top, STR("a/in")), path_real(&mem, STR("a/b"))));
	for (const char *const *name = (const char *const[]){ "a/file", "a/gone", "a/b/c/up",
							      "link", "a/out", "a/in", NULL };
	     *name; name++)
		unlink(*name);
	assert_int_equal(rmdir("a/bc") | rmdir("ab") | rmdir("a/b/c") | rmdir("a/b") | rmdir("a") |
				 chdir("/") | rmdir(dir),
			 0);
	arena_release(&mem);
}

static void path_real_part_follows_links_to_what_is_not_there(void **state)
{
	const struct {
		const char *target, *rest, *want; /* both paths from the folder */
	} row[] = {
		{ "nowhere", "", "nowhere" },
		{ "nowhere", "/x/../y", "nowhere/y" },
		{ "../outside", "", "../outside" },
		{ "down/../x", "", "sub/x" }, /* `down` is a link to sub/below */
		{ "/none/at/all", "/x", "/none/at/all/x" },
		{ "link", "", "link" }, /* a loop */
	};
	char dir[] = "/tmp/path_test.XXXXXX";
	struct arena mem = { 0 };
	struct str real, link, down;

	(void)state;
	assert_non_null(mkdtemp(dir));
	real = path_real(&mem, str_of(dir));
	link = path_join(&mem, real, STR("link"));
	down = path_join(&mem, real, STR("down"));
	assert_int_equal(mkdir(path_join(&mem, real, STR("sub")).p, 0700), 0);
	assert_int_equal(mkdir(path_join(&mem, real, STR("sub/below")).p, 0700), 0);
	assert_int_equal(symlink("sub/below", down.p), 0);
	for (size_t i = 0; i < COUNT(row); i++) {
		struct str asked = arena_fmt(&mem, "%s%s", link.p, row[i].rest),
			   want = path_resolve(&mem, real, str_of(row[i].want));

		assert_int_equal(symlink(row[i].target, link.p), 0);
		assert_str(path_real_part(&mem, asked), want.p);
		unlink(link.p);
	}
	unlink(down.p);
	rmdir(path_join(&mem, real, STR("sub/below")).p);
	rmdir(path_join(&mem, real, STR("sub")).p);
	rmdir(dir);
	arena_release(&mem);
}

static void path_is_reserved_knows_folders_by_their_whole_names(void **state)
{
	static const char *const reserved[] = { ".git", "/.git/x", "a/.BB", "a/.beadboard/b",
						".Abacus/x" };
	static const char *const others[] = { "", "/", "x.git/y", ".gitignore", ".bbq", "a/b" };

	(void)state;
	for (size_t i = 0; i < COUNT(reserved); i++)
		assert_true(path_is_reserved(str_of(reserved[i])));
	for (size_t i = 0; i < COUNT(others); i++)
		assert_false(path_is_reserved(str_of(others[i])));
}

int path_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_join_puts_one_slash),
		cmocka_unit_test(path_resolve_leaves_no_dots),
		cmocka_unit_test(path_splits_into_parent_and_name),
		cmocka_unit_test(path_within_compares_whole_names),
		cmocka_unit_test(path_real_follows_links_and_knows_what_is_not_there),
		cmocka_unit_test(path_real_beside_gives_what_path_real_gives),
		cmocka_unit_test(path_real_part_follows_links_to_what_is_not_there),
		cmocka_unit_test(path_is_reserved_knows_folders_by_their_whole_names),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
