/* skill.h - files that tell an agent how to use this program: skill/, embedded by base/embed.awk.
 * The first is SKILL.md.
 */
#ifndef NSX_SKILL_H
#define NSX_SKILL_H

struct nsx_skill_file {
	const char *name; /* name in the folder                              */
	const char *text;
};
extern const struct nsx_skill_file nsx_skill_files[];
extern const unsigned nsx_nskill_files;

#endif
