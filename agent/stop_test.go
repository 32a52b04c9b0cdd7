package agent

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/internal/netns"
)

// TestAnAgentToldToStopWhileItStartsEndsInOrder: whatever step of its start the
// end of the context meets, that is no failure.
func TestAnAgentToldToStopWhileItStartsEndsInOrder(t *testing.T) {
	ns := netns.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, err := New(Options{NodeName: "node-a", Source: fill(threeNodes())})
	require.NoError(t, err)
	require.NoError(t, ns.Do(func() error { return a.Run(ctx) }))
}
