/* facts.c - rows for thread names, GPUs, contexts, streams, machine properties and options. */
#include <stdio.h>
#include "nsysrep/facts.h"

/* Adds each message of a repeated field as a row; field 0: those of all fields. */
static void add_message_rows(struct nsx_rep_rows *rows, enum nsx_rep_table t,
			     struct nsx_piece message, unsigned field, const struct nsx_val *code)
{
	struct nsx_wire w = nsx_wire_of(message);
	struct nsx_msg m;

	while (nsx_wire_message(&w, field, &m, &rows->is_garbled))
		nsx_rows_add(rows, t, &(struct nsx_row_of){.body = &m, .code = code});
}

/* Adds the files of processes: their output, their memory maps. */
static void facts_add_files(const struct nsx_container *c, const struct nsx_rep_strings *strings,
			    struct nsx_rep_rows *rows)
{
	struct nsx_wire w = nsx_wire_of(c->strings);
	struct nsx_msg m;
	int64_t id = 0;

	while (nsx_wire_message(&w, 2, &m, &rows->is_garbled))
		nsx_rows_put(rows, NSX_REP_ANALYSIS_FILE, (struct nsx_val[]){
			nsx_val_int(id++),
			nsx_val_bytes(nsx_rep_string(strings, nsx_msg_uint(&m, 2))),
			nsx_val_bytes(nsx_rep_string(strings, nsx_msg_uint(&m, 3))),
			nsx_val_field(&m, 3), nsx_val_field(&m, 1)});
}

enum { VM = 1, NAMED_STREAM = 13, CONTEXT = 14, STREAM = 15, CPU_COUNTER = 23, /* of a machine */
       VM_FACTS = 2, VM_GPU = 7, VM_CUDA_DEVICE = 9 };

static void add_machine(const struct nsx_container *c, struct nsx_rep_rows *rows)
{
	struct nsx_wire w = nsx_wire_of(c->machine);
	struct nsx_msg vm;

	while (nsx_wire_message(&w, VM, &vm, &rows->is_garbled)) {
		struct nsx_piece facts = nsx_msg_bytes(&vm, VM_FACTS);
		struct nsx_val id = nsx_val_int(nsx_msg_int(&vm, 1));

		add_message_rows(rows, NSX_REP_GPU, facts, VM_GPU, &id);
		add_message_rows(rows, NSX_REP_CUDA_DEVICE, facts, VM_CUDA_DEVICE, NULL);
	}
	add_message_rows(rows, NSX_REP_NVTX_CUDA_STREAM, c->machine, NAMED_STREAM, NULL);
	add_message_rows(rows, NSX_REP_CUDA_CONTEXT, c->machine, CONTEXT, NULL);
	add_message_rows(rows, NSX_REP_CUDA_STREAM, c->machine, STREAM, NULL);
	add_message_rows(rows, NSX_REP_PERF_METRIC, c->machine, CPU_COUNTER, NULL);
}

static const char *property_name(uint64_t n)
{
	static const struct {
		uint64_t n;
		const char *name;
	} known[] = {
#define REP_PROPERTY(n, name) {n, name},
#include "nsysrep/properties.def"
#undef REP_PROPERTY
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].n == n)
			return known[i].name;
	return NULL;
}

enum { ENVIRONMENT = 610, /* variables separated by NUL */
       NETWORK_CARDS = 910 }; /* a message, or text as exports have it */

static void add_property(struct nsx_rep_rows *rows, const struct nsx_msg *device,
			 const struct nsx_msg *p)
{
	uint64_t n = nsx_msg_uint(p, 1);
	const char *name = property_name(n);
	char digits[24];
	struct nsx_val value = nsx_val_bytes(nsx_msg_bytes(p, 2));
	struct nsx_val label = nsx_val_bytes(nsx_msg_bytes(device, 1));
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	struct nsx_msg cards;

	if (n == NETWORK_CARDS && nsx_msg_read(&cards, nsx_msg_bytes(p, 2)))
		add_message_rows(rows, NSX_REP_NIC, nsx_msg_bytes(p, 2), 0, &label);
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	if (n == ENVIRONMENT && value.len) {
		nsx_buf_add(&b, value.u.p, value.len);
		for (size_t i = 0; i < b.n; i++)
			b.p[i] = b.p[i] ? b.p[i] : ';';
		value.u.p = b.p;
	}
	nsx_rows_put(rows, NSX_REP_SYSTEM_ENV, (struct nsx_val[]){
			     nsx_val_field(device, 3), label, nsx_val_str(name ? name : digits),
			     nsx_val_int((int64_t)n), value});
}

/* Adds the properties of devices, from field 1 of the first message: devices {1 label, 2 {1
 * property}, 3 id}.
 */
static void add_properties(const struct nsx_container *c, struct nsx_rep_rows *rows)
{
	struct nsx_wire w = nsx_wire_of(c->first);
	struct nsx_msg device, property;

	while (nsx_wire_message(&w, 1, &device, &rows->is_garbled)) {
		struct nsx_wire in = nsx_wire_of(nsx_msg_bytes(&device, 2));

		while (nsx_wire_message(&in, 1, &property, &rows->is_garbled))
			add_property(rows, &device, &property);
	}
}

struct nsx_piece nsx_rep_version(const struct nsx_container *c)
{
	struct nsx_piece b = {(const uint8_t *)"", 0};
	const uint8_t *dash;
	struct nsx_msg m;

	if (!nsx_msg_read(&m, c->ui))
		return b;
	b = nsx_msg_bytes(&m, 6);
	dash = b.n ? memchr(b.p, '-', b.n) : NULL;
	return dash ? (struct nsx_piece){b.p, (size_t)(dash - b.p)} : b;
}

/* Adds the export's properties that readers look up: that payloads are included, and the version.
 * It is the version that captured; in an export it is that of the exporter.
 */
static void add_export_meta(const struct nsx_container *c, struct nsx_rep_rows *rows)
{
	const struct nsx_val v[][2] = {
		{nsx_val_str("EXPORT_PRODUCT_NAME"), nsx_val_str("NVIDIA Nsight Systems")},
		{nsx_val_str("EXPORT_PARAM_INCLUDE_JSON"), nsx_val_str("true")},
		{nsx_val_str("EXPORT_PRODUCT_VERSION"), nsx_val_bytes(nsx_rep_version(c))}};

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		if (v[i][1].len)
			nsx_rows_put(rows, NSX_REP_EXPORT_META, v[i]);
}

struct label {
	const char *name, *label;
};

static void add_labels(struct nsx_rep_rows *rows, enum nsx_rep_table t,
		       const char *prefix, const struct label *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%s", prefix, v[i].name);
		nsx_rows_put(rows, t, (struct nsx_val[]){
				     nsx_val_int((int64_t)i), nsx_val_str(name),
				     nsx_val_str(v[i].label)});
	}
}

static void add_enums(struct nsx_rep_rows *rows)
{
	static const struct label copies[] = {
		{"UNKNOWN", "Unknown"}, {"HTOD", "Host-to-Device"},
		{"DTOH", "Device-to-Host"}, {"HTOA", "Host-to-Array"},
		{"ATOH", "Array-to-Host"}, {"ATOA", "Array-to-Array"},
		{"ATOD", "Array-to-Device"}, {"DTOA", "Device-to-Array"},
		{"DTOD", "Device-to-Device"}, {"HTOH", "Host-to-Host"},
		{"PTOP", "Peer-to-Peer"}, {"UVM_HTOD", "Unified Host-to-Device"},
		{"UVM_DTOH", "Unified Device-to-Host"},
		{"UVM_DTOD", "Unified Device-to-Device"}};
	static const struct label memory[] = {
		{"PAGEABLE", "Pageable"}, {"PINNED", "Pinned"},
		{"DEVICE", "Device"}, {"ARRAY", "Array"},
		{"MANAGED", "Managed"}, {"DEVICE_STATIC", "Device Static"},
		{"MANAGED_STATIC", "Managed Static"}, {"UNKNOWN", "Unknown"}};

	add_labels(rows, NSX_REP_ENUM_MEMCPY, "CUDA_MEMCPY_KIND_", copies, ARRAY_LEN(copies));
	add_labels(rows, NSX_REP_ENUM_MEM_KIND, "CUDA_MEMOPR_MEMORY_KIND_", memory,
		   ARRAY_LEN(memory));
}

void nsx_rep_facts(const struct nsx_container *c, const struct nsx_rep_strings *strings,
		   struct nsx_rep_rows *rows)
{
	facts_add_files(c, strings, rows);
	add_message_rows(rows, NSX_REP_PROCESS_STREAM, c->strings, 2, NULL);
	add_message_rows(rows, NSX_REP_THREAD_NAME, c->threads, 0, NULL);
	add_machine(c, rows);
	add_properties(c, rows);
	add_enums(rows);
	add_export_meta(c, rows);
	nsx_rep_session(c, rows);
	nsx_rep_options(c, rows);
}
