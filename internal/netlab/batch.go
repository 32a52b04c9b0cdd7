package netlab

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// A Batch is a list of commands for ip, without the word ip. The zero value is
// an empty one.
type Batch struct {
	lines []string
}

// Add appends a command, formatted as by fmt.Sprintf.
func (b *Batch) Add(format string, args ...any) {
	b.lines = append(b.lines, fmt.Sprintf(format, args...))
}

// failedLine is how ip names the command of a batch that went wrong.
var failedLine = regexp.MustCompile(`(?m)^Command failed -:(\d+)\s*$`)

// run hands the batch to the program ip in the calling thread's namespace. With
// force, ip goes on after a command that fails; the error then tells all that
// did.
func (b *Batch) run(ctx context.Context, ip string, force bool) error {
	if len(b.lines) == 0 {
		return nil
	}
	args := []string{"-batch", "-"}
	if force {
		args = append([]string{"-force"}, args...)
	}
	cmd := exec.CommandContext(ctx, ip, args...)
	cmd.Stdin = strings.NewReader(strings.Join(b.lines, "\n") + "\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return b.explain(stderr.String(), err)
	}
	return nil
}

// explain puts the command in place of its number in what ip complained about.
func (b *Batch) explain(complaint string, err error) error {
	text := failedLine.ReplaceAllStringFunc(complaint, func(m string) string {
		n, convErr := strconv.Atoi(failedLine.FindStringSubmatch(m)[1])
		if convErr != nil || n < 1 || n > len(b.lines) {
			return m
		}
		return fmt.Sprintf("in command %q", "ip "+b.lines[n-1])
	})
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return fmt.Errorf("run ip: %w", err)
	}
	return fmt.Errorf("run ip: %s (%w)", text, err)
}
