package demo

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConsolePlain(t *testing.T) {
	var out, progress bytes.Buffer
	c := newConsole(Options{Out: &out, Progress: &progress}, func(error) {})
	c.begin("building")
	c.count(1, 10)
	c.begin("policy Cluster")
	c.printf("a %s\n", "table")
	c.end()
	require.Equal(t, "demo: [1/7] building\ndemo: [2/7] policy Cluster\n", progress.String())
	require.Equal(t, "a table\n", out.String())
}

func TestConsoleTerminal(t *testing.T) {
	var screen bytes.Buffer
	c := &console{out: &screen, progress: &screen, terminal: true}
	c.begin("building")
	c.count(1, 10) // too soon after the line was drawn
	c.drawn = c.drawn.Add(-redrawEvery)
	c.count(1234, 2468)
	c.printf("a table\n")
	c.end()
	const home = "\r\x1b[K"
	require.Equal(t, home+"[1/7] building"+
		home+"[1/7] building [==========          ] 1,234 of 2,468"+
		home+"a table\n"+home, screen.String())
}

// brokenPipe is a writer whose reader has gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestConsoleTellsThatResultsCannotBeWritten(t *testing.T) {
	var told error
	c := newConsole(Options{Out: brokenPipe{}, Progress: &bytes.Buffer{}}, func(err error) { told = err })
	c.printf("a table\n")
	require.ErrorContains(t, told, "write results: broken pipe")
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 12345: "12,345", 1234567: "1,234,567"} {
		require.Equal(t, want, thousands(n))
	}
}
