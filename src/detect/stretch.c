/* stretch.c - a stretch of the judged window that is slower. */
#include "detect/stretch.h"

#define EVEN 1.02     /* times as long, outside of it: or ... */
#define SLIGHTLY 0.25 /* ... by so much of what the slowest part takes more */

double nsx_mean_of_parts(const double part[NSX_PARTS], uint32_t parts)
{
	double sum = 0;

	for (unsigned i = 0; i < NSX_PARTS; i++)
		sum += parts >> i & 1 ? part[i] : 0;
	return sum / __builtin_popcount(parts);
}

unsigned nsx_part_at(const struct nsx_detect *d, int64_t at_ns)
{
	double at = (double)(at_ns - d->w.start_ns) /
		    (double)(d->w.end_ns - d->w.start_ns);

	return NSX_MIN((unsigned)(at * NSX_PARTS), NSX_PARTS - 1U);
}

bool nsx_fill_parts(double part[NSX_PARTS], uint32_t told)
{
	unsigned first = 0, n = 0;

	while (first < NSX_PARTS && !(told >> first & 1))
		first++;
	if (first == NSX_PARTS)
		return false;
	for (unsigned i = 0; i < NSX_PARTS; i++) {
		if (told >> i & 1)
			n++;
		else
			part[i] = part[i < first ? first : i - 1];
	}
	return 2 * n > NSX_PARTS;
}

static bool are_few(uint32_t parts)
{
	return __builtin_popcount(parts) >= NSX_FEW_PARTS;
}

bool nsx_find_stretch(const double part[NSX_PARTS], uint32_t told, double slower,
		      struct nsx_stretch *ret)
{
	double base = nsx_mean_of_parts(part, nsx_parts(0, NSX_FEW_PARTS));
	double most = base, even;
	unsigned i = 0;

	for (unsigned k = 0; k < NSX_PARTS; k++)
		most = NSX_MAX(most, part[k]);
	even = NSX_MAX(EVEN * base, base + SLIGHTLY * (most - base));
	while (i < NSX_PARTS && part[i] < even)
		i++;
	ret->from = i;
	while (i < NSX_PARTS && part[i] >= even)
		i++;
	ret->to = i;
	while (i < NSX_PARTS && part[i] < even)
		i++;
	if (i < NSX_PARTS || !are_few(told & nsx_parts(0, ret->from)) ||
	    !are_few(told & nsx_parts(ret->from, ret->to)))
		return false;
	ret->first = base;
	ret->ratio = nsx_mean_of_parts(part, nsx_parts(ret->from, ret->to)) / base;
	return ret->ratio >= slower;
}

struct nsx_window nsx_stretch_window(const struct nsx_detect *d,
				     const struct nsx_stretch *x)
{
	int64_t part_ns = (d->w.end_ns - d->w.start_ns) / NSX_PARTS;

	return (struct nsx_window){
		d->w.start_ns + part_ns * x->from,
		x->to == NSX_PARTS ? d->w.end_ns : d->w.start_ns + part_ns * x->to};
}

const char *nsx_say_stretch(const struct nsx_detect *d, const struct nsx_stretch *x)
{
	struct nsx_window when = nsx_stretch_window(d, x);
	struct nsx_findings *l = d->found;
	const char *since = nsx_text_instant(l->arena, when.start_ns, 3);

	return x->to == NSX_PARTS ?
		       nsx_tell(l, "from %s on", since) :
		       nsx_tell(l, "from %s to %s", since,
				nsx_text_instant(l->arena, when.end_ns, 3));
}
