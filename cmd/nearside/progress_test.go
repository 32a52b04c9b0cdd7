package main

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/agent"
	"github.com/nearside/nearside/nft"
)

func TestProgressIsForTerminals(t *testing.T) {
	var b bytes.Buffer
	p := newProgressLine(&b)
	p.began = time.Now().Add(-time.Minute)
	p.show(agent.Progress{Step: agent.StepSelect, Done: 1000, Total: 5000})
	p.clear()
	require.Empty(t, b.String(), "a buffer is no terminal")
}

func TestProgressLine(t *testing.T) {
	var b bytes.Buffer
	p := newProgressLine(&b)
	p.visible = true
	p.show(agent.Progress{Step: agent.StepSelect, Done: 0, Total: 5000})
	require.Empty(t, b.String(), "what is done in no time needs no progress")
	p.began = time.Now().Add(-time.Minute)
	p.show(agent.Progress{Step: agent.StepSelect, Done: 1000, Total: 5000})
	p.show(agent.Progress{Step: agent.StepWrite})
	p.clear()
	p.clear()
	require.Equal(t, "\r\x1b[Kselect endpoints 1000/5000 ...\r\x1b[Kwrite the kernel's table ...\r\x1b[K", b.String())
}

func TestDescribeSaysWhatIsMissing(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.EPERM:           "needs CAP_NET_ADMIN to program nftables: run as root",
		syscall.EPROTONOSUPPORT: "the kernel lacks nf_tables",
		syscall.EOPNOTSUPP:      "the kernel lacks nf_tables",
	} {
		err := fmt.Errorf("somewhere: %w", &nft.Error{Op: "list", Object: "tables", Errno: errno})
		require.Contains(t, describe(err), want)
	}
	require.Equal(t, "other", describe(errors.New("other")))
}

func TestOneLine(t *testing.T) {
	require.Equal(t, "first; second", oneLine("first\n  second\r\n"))
}

func TestZeroPeriodMeansNoWait(t *testing.T) {
	require.Negative(t, noWaitIfZero(0))
	require.Equal(t, time.Second, noWaitIfZero(time.Second))
}
