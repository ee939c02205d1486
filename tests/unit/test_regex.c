/* test_regex.c - users' regular expressions: refused patterns, and bounded memory. */
#include "../testlib.h"
#include <stdio.h>
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

	assert_int_equal(nsx_regex_compile(&re, "rank([0-9]+)", REG_ICASE, &err), 0);
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
		{"(a|b)*a(a|b){200}c", "repeats too much"},
		{"a{200}{200}{200}", "repeats too much"},
		{"()+++++", "repeats too much"},
		{"a*++{1,6}+.", "repeats too much"},
		{"(a?){1,400}b", "repeats too much"},
		{")+++++", "has no '('"},
		{"a)|(b", "has no '('"},
		{"[(]a)", "has no '('"},
		{"(a*)+++++", "repeats too much"},
		{"(a|b?)+*+*+*+", "repeats too much"},
		{"a*+{2,3}++*++++", "repeats too much"},
		{"(a?|b?|c?|d?|e?|f?|g?)+++", "repeats too much"},
		{"((((((\\b)+)+)+)+)+)", "repeats too much"},
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct nsx_err err;
		regex_t re;

		assert_int_equal(nsx_regex_compile(&re, bad[i].pattern, 0, &err), NSX_E_USAGE);
		if (!strstr(err.msg, bad[i].says))
			fail_msg("%s -> %s", bad[i].pattern, err.msg);
	}
}

TEST(found_anywhere)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} all[] = {
		{"^foo|bar$", "foobaz", true}, {"^foo|bar$", "xfoo", false},
		{"^foo|bar$", "xbar", true}, {"b+c", "aabbcc", true},
		{"((ab?)*(c?|d?)+)*x+++++", "abcdx", true},
		{"", "", true}, {"^$", "a", false}, {"a.b", "x\na\nb", true},
	};
	struct nsx_regex *re;
	struct nsx_err err;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_int_equal(nsx_regex_new(all[i].pattern, &re, &err), 0);
		if (nsx_regex_matches(re, all[i].text) != all[i].matches)
			fail_msg("%s on %s", all[i].pattern, all[i].text);
		nsx_regex_free(re);
	}
}

/* ASan's allocator ends the program if memory runs out. */
#ifndef __SANITIZE_ADDRESS__
TEST(no_memory_is_not_the_users_fault)
{
	static const struct rlimit none = {1, 1};
	struct nsx_err err;
	regex_t re;
	int status;
	pid_t pid = fork();

	if (!pid) {
		static char pattern[4001];

		memset(pattern, 'a', sizeof(pattern) - 1);
		setrlimit(RLIMIT_AS, &none);
		_exit(nsx_regex_compile(&re, pattern, 0, &err) != NSX_E_NOMEM);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Text on which the pattern below needs new states at every character. */
#define MANY_STATES "(a|b)*a(a|b){90}c"
static void write_match(char *name, size_t n, uint32_t x)
{
	for (size_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		name[i] = x >> 31 ? 'a' : 'b';
	}
	name[n - 92] = 'a';
	name[n - 1] = 'c';
}

TEST(no_memory_is_no_mismatch)
{
	static const struct rlimit none = {1, 1};
	static char name[40001];
	struct nsx_regex *re;
	struct nsx_err err;
	int status;
	pid_t pid;

	assert_int_equal(nsx_regex_new(MANY_STATES, &re, &err), 0);
	write_match(name, sizeof(name) - 1, 1);
	pid = fork();
	if (!pid) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(2);
		setrlimit(RLIMIT_AS, &none);
		_exit(!nsx_regex_matches(re, name));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 3);
	nsx_regex_free(re);
}

/* Long names. A search that begins at each character takes 414 MB and seconds for one name; a
 * search that keeps what it learnt takes 18 MB for each name.
 */
TEST(many_states_take_little)
{
	static const struct rlimit time_s = {9, 9}, memory = {128 << 20, 128 << 20};
	static char name[4001];
	struct nsx_regex *re;
	struct nsx_err err;
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_AS, &memory);
		setrlimit(RLIMIT_CPU, &time_s);
		if (nsx_regex_new(MANY_STATES, &re, &err))
			_exit(2);
		for (uint32_t k = 0; k < 16; k++) {
			write_match(name, sizeof(name) - 1, k);
			if (!nsx_regex_matches(re, name))
				_exit(1);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}
#endif
