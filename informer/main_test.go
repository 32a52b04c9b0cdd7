package informer

import (
	"testing"

	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// TestMain fails the run if any test leaves a goroutine behind.
func TestMain(m *testing.M) {
	// client-go pauses a millisecond between errors anywhere in the program. A
	// test with a clock of its own, which starts in the year 2000, would sleep
	// until the last error of another test is past.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	goleak.VerifyTestMain(m)
}
