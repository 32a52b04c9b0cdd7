package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker for releases; otherwise it is what the Go module
// system knows.
var version string

// versionInfo is what nearside version prints.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  nearside version
  nearside version -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := readVersion()
			switch output {
			case "text":
				_, err := fmt.Fprintln(cmd.OutOrStdout(), info.String())
				return err
			case "json":
				return writeJSON(cmd.OutOrStdout(), info)
			}
			return usagef("flag --output: unknown form %q: expected text or json", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "form of the output: text or json")
	return cmd
}

func readVersion() versionInfo {
	info := versionInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if info.Version == "" {
		info.Version = build.Main.Version
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Commit = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	return info
}

func (v versionInfo) String() string {
	commit := v.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case v.Modified:
		commit += " (modified)"
	}
	return fmt.Sprintf("nearside %s, commit %s, %s, %s", v.Version, commit, v.Go, v.Platform)
}
