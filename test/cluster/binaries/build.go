package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// BuildNearside builds the agent of this checkout into the file out, always:
// the Go build cache makes that cheap, and the tests never meet an old one.
func BuildNearside(ctx context.Context, progress io.Writer, out string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	out, err = filepath.Abs(out)
	if err != nil {
		return fmt.Errorf("build nearside: %w", err)
	}
	if err := goBuild(ctx, root, progress, "-o", out, "./cmd/nearside"); err != nil {
		return fmt.Errorf("build nearside: %w", err)
	}
	return nil
}

// goBuild runs go build in dir, with the settings of the Makefile, so that
// nothing is compiled twice. The programs are static.
func goBuild(ctx context.Context, dir string, progress io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-buildvcs=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = progress, progress
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run go build in %s: %w", dir, err)
	}
	return nil
}
