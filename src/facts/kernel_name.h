/* kernel_name.h - names for kernels that people understand.
 *
 * A family is what one would replace as a whole ("gemm f32", "elementwise add<f32>", "advec_mom").
 * A label identifies one kernel of the trace ("gemm f32 128×64 tn (sgemm)", "advec_mom #12"). Both
 * come from the function's own name; template arguments are read only if the function is a known
 * wrapper of its argument.
 */
#pragma once

#include "base/str.h"

/* The purpose of a kernel, for sums; "other" if its name does not tell. */
enum nsx_kernel_category {
	NSX_K_OTHER, NSX_K_GEMM, /* with convolutions                        */
	NSX_K_ATTENTION, NSX_K_NORM, NSX_K_ELEMENTWISE, NSX_K_REDUCE,
	NSX_K_SORT, NSX_K_MOE, NSX_K_COMM, NSX_K_MEMORY, NSX_K_KV_CACHE,
	NSX_K_SAMPLING, NSX_NKERNEL_CATEGORIES
} __attribute__((packed));
extern const char *const nsx_kernel_category_names[NSX_NKERNEL_CATEGORIES];

/* The type a kernel computes in. For matrix kernels it is the type multiplied, which for
 * tf32 is not the type stored.
 */
enum nsx_dtype {
	NSX_D_NONE, /* the name does not tell                                */
	NSX_D_F64, NSX_D_F32, NSX_D_TF32, NSX_D_F16, NSX_D_BF16, NSX_D_F8,
	NSX_D_F4, NSX_D_C64, NSX_D_C128, NSX_D_I64, NSX_D_I32, NSX_D_I16,
	NSX_D_I8, NSX_D_U64, NSX_D_U32, NSX_D_U16, NSX_D_U8, NSX_D_BOOL,
	NSX_NDTYPES
} __attribute__((packed));
extern const char *const nsx_dtype_names[NSX_NDTYPES]; /* NONE: "" */

struct nsx_kernel_words { /* what a kernel's own name tells */
	const char *family;   /* UTF-8, at most about 60 characters          */
	const char *label;    /* begins with the family; may not be unique   */
	const char *pattern;  /* the word that decided the category; NULL: none */
	enum nsx_kernel_category category;
	enum nsx_dtype dtype;
};
/* Reads a kernel's full name. Owner of the texts: the arena. */
void nsx_kernel_words(const char *full, struct nsx_arena *a, struct nsx_kernel_words *ret);
/* The number of leading bytes, counting the NUL, that decide: names that share them have the same
 * words, because parameters are not read.
 */
size_t nsx_kernel_words_length(const char *full);

struct nsx_kernel_name {
	const struct nsx_kernel_words *words; /* names with the same words share them */
};
enum { NSX_MAX_TOLD = 4 };
/* 1 + index of each word that distinguishes a name from names with the same kernel words. */
struct nsx_told {
	uint8_t word[NSX_MAX_TOLD]; /* 0: end                                */
};
struct nsx_trace;
struct nsx_kernel_names { /* sorted by text */
	const struct nsx_trace *trace;
	struct nsx_kernel_name *v;
	struct nsx_told *told; /* parallel to v                              */
	size_t n;
	uint32_t *of_shape; /* for each shape of the trace: index in v */
	struct nsx_kernel_ranks { /* by nsx_trace.rank / 64                  */
		uint64_t has; /* bit i: the name of this rank is a kernel's  */
		size_t before; /* number of kernels with lower ranks         */
	} *ranks;
	struct nsx_kernel_labels *labels; /* labels made so far              */
};
/* Names all kernels of the trace, which must outlive them. Owner: the caller,
 * nsx_kernel_names_done, also after a failure. Errors: NSX_E_NOMEM.
 */
int nsx_kernel_names_build(const struct nsx_trace *t, unsigned threads, struct nsx_arena *a,
			   struct nsx_kernel_names *ret, struct nsx_err *err) NSX_CHECKED;
void nsx_kernel_names_done(struct nsx_kernel_names *k);
/* Looks up a kernel of the trace; NULL if it has no such kernel. */
const struct nsx_kernel_name *nsx_kernel_name(const struct nsx_kernel_names *k, nsx_str name);
/* The kernel of a launch shape. A loop over operations uses this, because neighbouring
 * operations have neighbouring shapes.
 */
static inline const struct nsx_kernel_name *
nsx_kernel_of_shape(const struct nsx_kernel_names *k, uint32_t shape)
{
	return &k->v[k->of_shape[shape]];
}
/* Full names of all kernels, in the same order. Owner: the arena. */
int nsx_kernel_full_names(const struct nsx_kernel_names *k, struct nsx_arena *a,
			  nsx_str **ret, struct nsx_err *err) NSX_CHECKED;
/* A label that is unique in the trace. Labels are made on demand, because few of a million names
 * are shown. Thread-safe. Owner: k.
 */
const char *nsx_kernel_label(const struct nsx_kernel_names *k, nsx_str name);
