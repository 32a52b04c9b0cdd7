package examples_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestZoneSpreadPrintsShares(t *testing.T) {
	const want = `ENDPOINT        ZONE    STATE        CLUSTER  ZONESPREAD  WEIGHT
10.1.1.10:8080  zone-1  ready        16.7%    11.1%       2
10.1.1.11:8080  zone-1  ready        16.7%    11.1%       2
10.1.2.10:8080  zone-1  ready        16.7%    11.1%       2
10.1.3.10:8080  zone-2  ready        16.7%    16.7%       3
10.1.3.11:8080  zone-2  ready        16.7%    16.7%       3
10.1.4.10:8080  zone-3  ready        16.7%    33.3%       6
10.1.4.11:8080  zone-3  terminating  0.0%     0.0%        0
all             zone-1               50.0%    33.3%       6
all             zone-2               33.3%    33.3%       6
all             zone-3               16.7%    33.3%       6

ZoneSpread: every zone with an endpoint gets an equal share
`
	require.Equal(t, want, ok(t, "zonespread"))
}
