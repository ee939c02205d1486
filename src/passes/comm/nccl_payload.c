/* nccl_payload.c - message sizes, from payloads of NCCL's NVTX ranges.
 *
 * Most exports leave payloads out. The NVTX table is read again only if the export says
 * that it kept them.
 */
#include "facts/nccl_calls.h"
#include "passes/comm/nccl.h"
#include "passes/comm/nccl_tables.h"

NSX_ORDER(cmp_call, struct nsx_nccl_call, UP(op), UP(communicator), UP(bytes));

static int nccl_payload_add_op(const struct nsx_run *run, const struct nsx_nccl_call *m, size_t n,
			       struct nsx_table *table, struct nsx_err *err)
{
	struct nsx_cell *row = nsx_add_row(table);
	int64_t *bytes;
	int64_t sum = 0, most = 0, communicators = 0;

	if (!nsx_new_array(bytes, run->scratch, n, "messages", err))
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		bytes[i] = m[i].bytes;
		nsx_add_to(&sum, m[i].bytes);
		most = NSX_MAX(most, m[i].bytes);
		communicators += !i || m[i].communicator != m[i - 1].communicator;
	}
	row[NCCL_MESSAGE_OP_NAME] = nsx_string(
		m->op == NSX_NCCL_SEND ? "send" : m->op == NSX_NCCL_RECV ? "recv" :
		nsx_comm_op_name((enum nsx_comm_op)m->op));
	row[NCCL_MESSAGE_CALLS] = nsx_int((int64_t)n);
	row[NCCL_MESSAGE_BYTES] = nsx_int(sum);
	row[NCCL_MESSAGE_P50_BYTES] = nsx_real(nsx_quantile(bytes, n, 0.5));
	row[NCCL_MESSAGE_MAX_BYTES] = nsx_int(most);
	row[NCCL_MESSAGE_COMMUNICATORS] = nsx_int(communicators);
	return 0;
}

int nccl_fill_messages(const struct nsx_run *run, struct nsx_section *out,
		       struct nsx_table *table, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_nccl_calls calls;
	bool is_nccl = false, exported;

	for (uint32_t d = 0; d < t->ndomains; d++)
		is_nccl = is_nccl || t->domain[d].is_nccl;
	if (!is_nccl)
		return 0;
	if (nsx_nccl_payloads(t, &exported, err))
		return err->rc;
	if (!exported) {
		nsx_note(out, "message sizes are not in this export: export with payloads to get "
			      "the sizes of NCCL calls");
		return 0;
	}
	if (nsx_nccl_calls(t, run->opts->threads, run->scratch, &calls, err))
		return err->rc;
	nsx_sort(calls.v, calls.n, sizeof(*calls.v), cmp_call);
	NSX_EACH_RUN(i, next, calls.n, calls.v[next].op == calls.v[i].op)
		if (nccl_payload_add_op(run, &calls.v[i], next - i, table, err))
			return err->rc;
	nsx_table_sort(table, NSX_DESC(NCCL_MESSAGE_BYTES), NCCL_MESSAGE_OP_NAME);
	if (table->nrows)
		nsx_md_whole(out, table, 0);
	return 0;
}
