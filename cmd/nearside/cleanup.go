package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nearside/nearside/nft"
)

func newCleanupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cleanup",
		Short: "Remove nearside's tables; needs root",
		Long: `Removes the tables "ip nearside" and "ip6 nearside" and prints which were there.
Nothing else in the kernel is touched. Connections to Services are not served
any more, unless another proxy serves them.`,
		Example: `  nearside cleanup`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			conn, err := nft.Dial()
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			removed, err := conn.Cleanup(cmd.Context())
			for _, f := range removed {
				fmt.Fprintf(cmd.OutOrStdout(), "removed table %s %s\n", f, nft.TableName)
			}
			if err == nil && len(removed) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "nothing to remove")
			}
			return err
		},
	}
}
