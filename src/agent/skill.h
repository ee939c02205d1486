/* skill.h - files that tell an agent how to use this program: skill/, embedded by base/embed.awk.
 * The first is SKILL.md.
 */
#pragma once

struct nsx_skill_file {
	const char *name; /* name in the folder                              */
	const char *text;
};
extern const struct nsx_skill_file nsx_skill_files[];
extern const unsigned nsx_nskill_files;
