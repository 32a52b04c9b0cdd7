// Package commits records the transactions that the kernel commits to nftables
// in one network namespace: when, by which process, and what was in them.
//
// It is how the tests see what an agent does without asking the agent. The
// kernel announces every change of every table on a netlink multicast group,
// and closes each transaction with one message about the new generation
// (nf_tables_api.c, nf_tables_commit), so that "nothing was announced" means
// that the tables were not touched.
package commits
