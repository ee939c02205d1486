/* Users' regular expressions: what is refused, and what memory has to do with it. */
#include "../testlib.h"
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/base.h"
#include "base/regex.h"

TEST(groups_and_flags)
{
	struct nsx_err err;
	regmatch_t at[2];
	regex_t re;

	assert_int_equal(nsx_regex_compile(&re, "rank([0-9]+)", REG_ICASE,
					   &err), 0);
	assert_int_equal(regexec(&re, "a_RANK12.x", 2, at, 0), 0);
	assert_int_equal(at[1].rm_so, 6);
	assert_int_equal(at[1].rm_eo, 8);
	regfree(&re);
}

TEST(what_is_refused_says_why)
{
	static const struct {
		const char *pattern, *says;
	} bad[] = {
		{"[", "nvalid"},
		{"a\\d", "write [0-9]"},
		{"(.*)(.*)(.*)\\3\\2\\1", "back-reference \\3"},
		{"(((a{200}){200}){200})", "repeats too much"},
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct nsx_err err;
		regex_t re;

		assert_int_equal(nsx_regex_compile(&re, bad[i].pattern, 0,
						   &err), NSX_E_USAGE);
		if (!strstr(err.msg, bad[i].says))
			fail_msg("%s -> %s", bad[i].pattern, err.msg);
	}
}

/* ASan's allocator ends the program where memory ends. */
#ifndef __SANITIZE_ADDRESS__
TEST(no_memory_is_not_the_users_fault)
{
	static const struct rlimit none = {1, 1};
	struct nsx_err err;
	regex_t re;
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_AS, &none);
		_exit(nsx_regex_compile(&re, "((a{30}){30}b{999})", 0, &err) !=
		      NSX_E_NOMEM);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}
#endif
