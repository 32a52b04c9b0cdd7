package main

import (
	"errors"

	"github.com/nearside/nearside/nft"
)

// describe returns an error as it is told to people. Where the kernel said no
// before anything was tried, what is missing is all that matters.
func describe(err error) string {
	switch {
	case errors.Is(err, nft.ErrPermission):
		return "needs CAP_NET_ADMIN to program nftables: run as root, or give the process that capability"
	case errors.Is(err, nft.ErrUnsupported):
		return "the kernel lacks nf_tables: it needs nf_tables with NAT (modules nf_tables, nft_chain_nat, nft_numgen): " + err.Error()
	}
	return err.Error()
}
