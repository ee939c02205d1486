/* test_capture.c - the parts of capture that work without nsys. */
#include "../testlib.h"
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
#include "capture/capture.h"

static const char help[] = "usage: nsys profile [<args>]\n\n"
	"\t-b, --backtrace=\n\n\t   Possible values are 'lbr' or 'fp'.\n"
	"\t   Needs the --sample switch.\n\n"
	"\t(Experimental) --ib-switch=<GUID>[,<GUID>...]\n\n\t   A list.\n\n"
	"\t--nvtx-domain-[include|exclude]=\n\n\t   Names.\n\n"
	"\t-t, --trace=\n\n\t   'cuda', 'cuda-sw', 'nvtx' or 'none'.\n";

TEST(help_is_understood)
{
	assert_true(nsx_nsys_knows(help, "backtrace", NULL));
	assert_true(nsx_nsys_knows(help, "ib-switch", NULL));
	assert_true(nsx_nsys_knows(help, "trace", "cuda"));
	assert_true(nsx_nsys_knows(help, "trace", "cuda-sw"));
	assert_false(nsx_nsys_knows(help, "trace", "sw"));
	assert_false(nsx_nsys_knows(help, "trace", "lbr"));
	assert_false(nsx_nsys_knows(help, "backtrace", "cuda"));
	assert_false(nsx_nsys_knows(help, "sample", NULL)); /* only the prose mentions it */
	assert_false(nsx_nsys_knows(help, "ib", NULL));
	assert_false(nsx_nsys_knows("", "trace", NULL));
}

TEST(versions_are_compared_by_number)
{
	assert_true(nsx_version_cmp("2023.4.4", "2023.10.1") < 0);
	assert_true(nsx_version_cmp("2025.5.1.121-2551x", "2025.5") > 0);
	assert_true(nsx_version_cmp("2025.4", "2025.4.1") < 0);
	assert_true(nsx_version_cmp("", "2020.1") < 0);
	assert_int_equal(nsx_version_cmp("2025.1.1-a", "2025.1.1-b"), 0);
}

static void check_words(const char *text, const char *want)
{
	NSX_AT_EXIT(nsx_args_done) struct nsx_args args = { 0 };
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_buf got = { 0 };
	struct nsx_err err;

	nsx_buf_adds(&got, "");
	assert_int_equal(nsx_args_split(&args, text, a, &err), 0);
	for (size_t i = 0; i < args.n; i++)
		nsx_buf_printf(&got, "<%s>", args.argv[i]);
	assert_string_equal(got.n ? got.p : "", want);
	nsx_buf_done(&got);
	nsx_arena_free(a);
}

TEST(words_are_split_as_a_shell_does)
{
	check_words("", "");
	check_words("  ", "");
	check_words(" a  bc\td\n", "<a><bc><d>");
	check_words("'a b' \"c d\" e' 'f", "<a b><c d><e f>");
	check_words("'' \"\"", "<><>");
	check_words("a\\ b '\\' \"\\\"\" $X `x` *", "<a b><\\><\"><$X><`x`><*>");
}

TEST(an_open_quote_is_refused)
{
	NSX_AT_EXIT(nsx_args_done) struct nsx_args args = { 0 };
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_err err;

	assert_int_equal(nsx_args_split(&args, "a 'b", a, &err), NSX_E_USAGE);
	assert_string_equal(err.msg, "a quote is not closed in 'a 'b'");
	nsx_arena_free(a);
}

TEST(options_are_found_among_words)
{
	const char *words[] = { "-t", "cuda", "--sample=cpu", "--stats",
				"-ox" };
	const struct nsx_args args = { .argv = words, .n = ARRAY_LEN(words) };

	assert_true(nsx_args_have(&args, "trace", 't'));
	assert_true(nsx_args_have(&args, "sample", 0));
	assert_true(nsx_args_have(&args, "stats", 0));
	assert_true(nsx_args_have(&args, "output", 'o'));
	assert_false(nsx_args_have(&args, "stat", 0));
	assert_false(nsx_args_have(&args, "cuda", 'c'));
}

TEST(a_program_is_run_and_limited)
{
	static const char *const talk[] = { "sh", "-c",
					    "echo out; echo err >&2; exit 3",
					    NULL };
	static const char *const sleep[] = { "sleep", "100", NULL };
	static const char *const none[] = { "/none/program", NULL };
	struct nsx_proc p = { .argv = talk };
	struct nsx_proc_end end;
	struct nsx_err err;

	assert_int_equal(nsx_proc_run(&p, &end, &err), 0);
	assert_int_equal(end.code, 3);
	assert_string_equal(end.out.p, "out\n");
	assert_string_equal(end.err.p, "err\n");
	nsx_proc_end_done(&end);

	p = (struct nsx_proc){ .argv = sleep, .limit_s = 0.2 };
	assert_int_equal(nsx_proc_run(&p, &end, &err), 0);
	assert_int_equal(end.code, 128 + SIGTERM);
	assert_true(end.timed_out);
	nsx_proc_end_done(&end);

	p = (struct nsx_proc){ .argv = none };
	assert_int_equal(nsx_proc_run(&p, &end, &err), NSX_E_IO);
	assert_string_equal(err.msg, "cannot run '/none/program': No such file or directory");
	nsx_proc_end_done(&end);
}

TEST(the_end_of_long_output_is_kept)
{
	static const char *const argv[] = {
		"sh", "-c", "head -c 300000 /dev/zero; echo; echo the end", NULL
	};
	const struct nsx_proc p = { .argv = argv, .keep = 1000 };
	struct nsx_proc_end end;
	struct nsx_err err;
	const char *found;

	assert_int_equal(nsx_proc_run(&p, &end, &err), 0);
	assert_in_range(end.out.n, 1000, 70000);
	found = nsx_proc_find(&end.out, "the end\n", NULL);
	assert_ptr_equal(found, end.out.p + end.out.n - 8);
	assert_null(nsx_proc_find(&end.out, "the end\n", found + 1));
	nsx_proc_end_done(&end);
}

TEST(half_a_compressed_file_is_removed)
{
	char from[] = "/tmp/nsx-test-XXXXXX", to[64];
	struct rlimit old, small;
	struct nsx_err err;
	int fd = mkstemp(from), rc;
	FILE *f = fdopen(fd, "w");

	srand(1);
	for (int i = 0; i < 1 << 20; i++)
		fputc(rand() & 0xff, f);
	fclose(f);
	sprintf(to, "%s.zst", from);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 100000;
	setrlimit(RLIMIT_FSIZE, &small);
	rc = nsx_file_compress(from, to, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(rc, NSX_E_IO);
	assert_non_null(strstr(err.msg, "File too large"));
	assert_int_equal(nsx_file_size(to), -1);
	assert_int_equal(nsx_file_compress(from, to, &err), 0);
	assert_in_range(nsx_file_size(to), 1 << 20, (1 << 20) + 200);
	unlink(from);
	unlink(to);
}
