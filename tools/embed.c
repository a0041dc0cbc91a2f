/*
 * embed FILE...: prints a C source that contains the files, as the table declared in serve.h.
 * The ETag of a file is a hash of its content.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *end, *type;
} types[] = {
	{ ".html", "text/html; charset=utf-8" },
	{ ".js", "text/javascript; charset=utf-8" },
	{ ".css", "text/css; charset=utf-8" },
	{ ".svg", "image/svg+xml" },
};

static const char *type_of(const char *path)
{
	size_t n = strlen(path);

	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		size_t m = strlen(types[i].end);

		if (n > m && !strcmp(path + n - m, types[i].end))
			return types[i].type;
	}
	return "application/octet-stream";
}

static int put_file(const char *path, int number, uint64_t *tag)
{
	FILE *f = fopen(path, "rb");
	int ch, n = 0;

	if (!f) {
		perror(path);
		return -1;
	}
	*tag = UINT64_C(14695981039346656037);
	printf("static const unsigned char file_%d[] = {", number);
	for (; (ch = getc(f)) != EOF; n++) {
		printf("%s%d,", n % 20 ? "" : "\n", ch);
		*tag = (*tag ^ (unsigned)ch) * UINT64_C(1099511628211);
	}
	printf("%s\n};\n", n ? "" : "0");
	fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	uint64_t tags[64];
	int sizes[64];

	if (argc > 64)
		return 1;
	printf("#include \"serve/serve.h\"\n\n");
	for (int i = 1; i < argc; i++)
		if ((sizes[i] = put_file(argv[i], i, &tags[i])) < 0)
			return 1;
	printf("const struct page_file page_files[] = {\n");
	for (int i = 1; i < argc; i++)
		printf("\t{ \"/%s\", \"%s\", \"%016llx\", file_%d, %d },\n",
		       strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i],
		       type_of(argv[i]), (unsigned long long)tags[i], i, sizes[i]);
	printf("\t{ 0 },\n};\n");
	return 0;
}
