package packettest

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A sentinel costs microseconds where waiting for nothing would cost a timeout.
func TestSilenceIsToldAtOnce(t *testing.T) {
	lab := New(t, Options{})
	nftLoad(t, lab, someRules)
	const probes = 500
	start := time.Now()
	for range probes {
		require.Equal(t, Dropped, lab.Probe(t, Probe{From: Pod("10.1.1.50"), To: To("10.96.0.10:82"), Proto: UDP}).Kind)
	}
	require.Less(t, time.Since(start), 5*time.Second, "%d dropped probes", probes)
}

// Where the kernel answers late, because another processor does the work and has
// other work besides, the verdict must be the same.
func TestVerdictsDoNotDependOnTiming(t *testing.T) {
	lab := New(t, Options{})
	nftLoad(t, lab, someRules)
	receiveElsewhere(t, lab)
	defer makeNoise(lab)()
	for range 1000 {
		got := lab.Probe(t, Probe{From: Pod("10.1.1.50"), To: To("10.96.0.10:81"), Proto: TCP})
		require.Equal(t, Delivered, got.Kind)
		got = lab.Probe(t, Probe{From: Outside("198.51.100.7"), To: To("10.96.0.10:82"), Proto: TCP})
		require.Equal(t, Dropped, got.Kind)
		got = lab.Probe(t, Probe{From: Pod("10.1.1.50"), To: To("10.96.0.10:83"), Proto: TCP})
		require.Equal(t, Refused, got.Kind)
	}
	if runtime.NumCPU() > 1 {
		require.Greater(t, lab.sentinels, 1100, "a drop takes one sentinel, and an answer only if it comes late")
	}
}

// receiveElsewhere has the node's packets received on a processor that the lab
// does not send on, if there is another (Documentation/networking/scaling.rst,
// RPS). Sysfs shows the interfaces of the namespace it is mounted in.
func receiveElsewhere(t *testing.T, lab *Lab) {
	t.Helper()
	cpu := slices.IndexFunc([]bool{lab.cpu.IsSet(0), lab.cpu.IsSet(1)}, func(ours bool) bool { return !ours })
	script := fmt.Sprintf(`mount -t sysfs none "$1" && for i in world pods; do echo %x >"$1/class/net/$i/queues/rx-0/rps_cpus" || exit 1; done`, 1<<min(cpu, runtime.NumCPU()-1))
	lab.Node.Run(t, "unshare", "--mount", "sh", "-c", script, "sh", t.TempDir())
}

// makeNoise keeps the backlog of the lab's processor in use, without ever
// filling it (net.core.netdev_max_backlog is 1,000), until stop is called.
func makeNoise(lab *Lab) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		noise := packet{src: To("198.51.100.200:7"), dst: To("203.0.113.9:7"), proto: UDP, token: 1}
		for {
			select {
			case <-quit:
				return
			default:
			}
			_ = lab.onOneCPU(func() error {
				for range 100 {
					_ = lab.sides[World].send(noise)
				}
				return nil
			})
			time.Sleep(time.Millisecond)
		}
	}()
	return func() { close(quit); <-done }
}

func BenchmarkProbe(b *testing.B) {
	for name, port := range map[string]string{"delivered": "81", "dropped": "82", "refused": "83"} {
		b.Run(name, func(b *testing.B) {
			lab := New(b, Options{})
			nftLoad(b, lab, someRules)
			p := Probe{From: Pod("10.1.1.50"), To: To("10.96.0.10:" + port), Proto: TCP}
			for b.Loop() {
				lab.Probe(b, p)
			}
		})
	}
}
