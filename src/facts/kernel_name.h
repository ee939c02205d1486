/* kernel_name.h - what a kernel's name says, in a person's words.
 *
 * A family is what one replaces as a whole ("gemm f32", "elementwise add<f32>",
 * "advec_mom"); a label tells one kernel from all others of the trace ("gemm f32
 * 128×64 tn (sgemm)", "advec_mom #12").  Both come from the function's own name:
 * what stands in its template arguments is read only where the function is a
 * known wrapper of what it is given.
 */
#ifndef NSX_KERNEL_NAME_H
#define NSX_KERNEL_NAME_H

#include "base/str.h"

/* What a kernel is for. For roll-ups: a name that says nothing is "other". */
enum nsx_kernel_category {
	NSX_K_OTHER, NSX_K_GEMM, /* convolutions too                         */
	NSX_K_ATTENTION, NSX_K_NORM, NSX_K_ELEMENTWISE, NSX_K_REDUCE,
	NSX_K_SORT, NSX_K_MOE, NSX_K_COMM, NSX_K_MEMORY, NSX_K_KV_CACHE,
	NSX_K_SAMPLING, NSX_NKERNEL_CATEGORIES
} __attribute__((packed));
extern const char *const nsx_kernel_category_names[NSX_NKERNEL_CATEGORIES];

/* What a kernel computes in: of a matrix kernel the type it multiplies, which
 * for tf32 is not the type that is stored.
 */
enum nsx_dtype {
	NSX_D_NONE, /* the name does not say                                 */
	NSX_D_F64, NSX_D_F32, NSX_D_TF32, NSX_D_F16, NSX_D_BF16, NSX_D_F8,
	NSX_D_F4, NSX_D_C64, NSX_D_C128, NSX_D_I64, NSX_D_I32, NSX_D_I16,
	NSX_D_I8, NSX_D_U64, NSX_D_U32, NSX_D_U16, NSX_D_U8, NSX_D_BOOL,
	NSX_NDTYPES
} __attribute__((packed));
extern const char *const nsx_dtype_names[NSX_NDTYPES]; /* NONE: "" */

struct nsx_kernel_words { /* what a name says by itself */
	const char *family;   /* UTF-8, at most some 60 characters           */
	const char *label;    /* begins with it; may be that of others, too  */
	const char *pattern;  /* what told the category; NULL: nothing       */
	enum nsx_kernel_category category;
	enum nsx_dtype dtype;
};
/* Texts are the arena's. */
void nsx_kernel_words(const char *full, struct nsx_arena *a,
		      struct nsx_kernel_words *ret);
/* Names that begin with as many bytes of this one (its NUL counts, too) say the same:
 * parameters are not read.
 */
size_t nsx_kernel_words_length(const char *full);

struct nsx_kernel_name {
	const struct nsx_kernel_words *words; /* shared by names that say the same */
};
enum { NSX_MAX_TOLD = 4 };
struct nsx_told { /* which words of a name, + 1, tell it from those of the same words */
	uint8_t word[NSX_MAX_TOLD]; /* 0: no more                            */
};
struct nsx_trace;
struct nsx_kernel_names { /* in order of their texts */
	const struct nsx_trace *trace;
	struct nsx_kernel_name *v;
	struct nsx_told *told; /* side by side with v                        */
	size_t n;
	uint32_t *of_shape; /* index of v, by shape of the trace             */
	struct nsx_kernel_ranks { /* by rank of the trace / 64               */
		uint64_t has; /* bits of those that are kernels'             */
		size_t before; /* kernels of lower ranks                     */
	} *ranks;
	struct nsx_kernel_labels *labels; /* that were asked for             */
};
/* All kernels of the trace, which must outlive them.  Owner: the caller,
 * nsx_kernel_names_done, also after a failure.  Errors: NSX_E_NOMEM.
 */
int nsx_kernel_names_build(const struct nsx_trace *t, unsigned threads,
			   struct nsx_arena *a,
			   struct nsx_kernel_names *ret,
			   struct nsx_err *err) NSX_CHECKED;
void nsx_kernel_names_done(struct nsx_kernel_names *k);
/* Of a kernel of the trace; NULL: it has none of that name. */
const struct nsx_kernel_name *nsx_kernel_name(const struct nsx_kernel_names *k,
					      nsx_str name);
/* The same for who asks for that of a great many ops: neighbours have neighbouring shapes. */
static inline const struct nsx_kernel_name *
nsx_kernel_of_shape(const struct nsx_kernel_names *k, uint32_t shape)
{
	return &k->v[k->of_shape[shape]];
}
/* Full names of all kernels, in their order.  Owner: the arena. */
int nsx_kernel_full_names(const struct nsx_kernel_names *k, struct nsx_arena *a,
			  nsx_str **ret, struct nsx_err *err) NSX_CHECKED;
/* Unlike that of any other kernel of the trace.  It is made when asked for, as few of
 * a million names are ever shown; any thread may ask.  Owner: k.
 */
const char *nsx_kernel_label(const struct nsx_kernel_names *k, nsx_str name);

#endif
