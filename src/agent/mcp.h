/* mcp.h - a server of the Model Context Protocol over a pair of pipes.
 *
 * Revisions 2024-11-05 to 2025-11-25 begin with initialize, which fixes their rules for the
 * rest of the process. From 2026-07-28 on each request names its revision. There is one message
 * a line, and nothing else is ever written.
 *
 * A second thread does tool calls and reads resources, one after another. All else is answered
 * at once, so that a long call can be cancelled.
 */
#pragma once

#include "agent/tools.h"

struct nsx_mcp_opts {
	const char *const *roots; /* folders that may be read; none: the working folder */
	size_t nroots;
	int64_t budget; /* limit of an answer, in tokens                     */
	size_t cache_bytes;
	struct nsx_opts like; /* options with which each trace is read       */
	bool text_is_json;
	unsigned threads;
	int in, out; /* file descriptors                                     */
};
/* Serves until the end of input, or until nsx_stop_flag is set.
 * Errors: those of the roots; NSX_E_IO.
 */
int nsx_mcp_serve(const struct nsx_mcp_opts *o, struct nsx_err *err);

/* Appends the text for a client's settings that adds this server. No roots: the project's
 * folder. Errors: NSX_E_USAGE, an unknown client.
 */
int nsx_mcp_config(const char *client, const char *program,
		   const char *const *roots, size_t nroots, struct nsx_buf *b,
		   struct nsx_err *err) NSX_CHECKED;

/* Protocol (mcp_protocol.c), for the server (mcp_server.c) ----------------------*/

struct nsx_mcp { /* the server's state for its client */
	struct nsx_toolbox box;
	_Atomic int version; /* index of the revision; -1: not chosen yet    */
};
enum nsx_mcp_kind {
	NSX_MCP_NOTHING, /* no answer is needed                              */
	NSX_MCP_ANSWERED,
	NSX_MCP_CALL,	 /* for the second thread: nsx_mcp_do                */
	NSX_MCP_CANCEL,	 /* cancels the request *ret_id                      */
};

/* Whether a message is a batch. Only revision 2025-03-26 has batches, and requires support for
 * them. Each message of a batch is answered separately, when its answer is ready.
 */
bool nsx_mcp_is_batch(const struct nsx_mcp *m, const struct nsx_jsonr *message);
/* Classifies a message. If the answer is known at once, appends it to out as a line. *ret_id is
 * borrowed from the message.
 */
enum nsx_mcp_kind nsx_mcp_read(struct nsx_mcp *m, const struct nsx_jsonr *message,
			       struct nsx_buf *out, const struct nsx_jsonr **ret_id);
/* Appends the answer to a line that is not JSON. */
void nsx_mcp_not_json(const struct nsx_mcp *m, const char *why, struct nsx_buf *out);
/* Executes a call. Errors: only NSX_E_STOP, with no answer. */
int nsx_mcp_do(struct nsx_mcp *m, const struct nsx_jsonr *message,
	       struct nsx_buf *out, struct nsx_err *err) NSX_CHECKED;
/* The token for progress messages of a request; NULL: none. */
const struct nsx_jsonr *nsx_mcp_token(const struct nsx_jsonr *message);
void nsx_mcp_progress(const struct nsx_mcp *m, const struct nsx_jsonr *token,
		      double seconds, struct nsx_buf *out);

/* Resources (mcp_resources.c): reports of loaded traces. -------------------------*/
void nsx_mcp_list_resources(const struct nsx_cache *c, struct nsx_jsonw *w);
void nsx_mcp_list_templates(struct nsx_jsonw *w);
/* Adds the member "contents". Errors: NSX_E_USAGE for an unknown address. */
int nsx_mcp_read_resource(const struct nsx_cache *c, const char *uri,
			  struct nsx_jsonw *w, struct nsx_err *err) NSX_CHECKED;
/* Prompts (mcp_prompts.c). Errors: NSX_E_USAGE. */
void nsx_mcp_list_prompts(struct nsx_jsonw *w);
int nsx_mcp_get_prompt(const char *name, const struct nsx_jsonr *arguments,
		       struct nsx_jsonw *w, struct nsx_err *err) NSX_CHECKED;
