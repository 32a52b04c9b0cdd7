package frontends_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nearside/nearside/test/cluster/frontends"
)

func TestDiff(t *testing.T) {
	state := frontends.State{"tcp 10.96.0.1:80": "10.0.0.1:80", "tcp 10.96.0.2:80": frontends.Reject}
	for _, test := range []struct {
		name  string
		other frontends.State
		want  string
	}{
		{name: "nothing between equal states", other: frontends.State{"tcp 10.96.0.1:80": "10.0.0.1:80", "tcp 10.96.0.2:80": "reject"}},
		{
			name:  "what is missing, too much and different",
			other: frontends.State{"tcp 10.96.0.2:80": "drop", "tcp 10.96.0.3:80": "drop"},
			want: "- tcp 10.96.0.1:80 to 10.0.0.1:80\n" +
				"~ tcp 10.96.0.2:80 to drop, not reject\n" +
				"+ tcp 10.96.0.3:80 to drop",
		},
	} {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.want, state.Diff(test.other)) })
	}
}

func TestDiffIsShort(t *testing.T) {
	many := frontends.State{}
	for i := range 100 {
		many[fmt.Sprintf("tcp 10.96.0.%d:80", i)] = frontends.Drop
	}
	lines := strings.Split(many.Diff(nil), "\n")
	require.Len(t, lines, 11)
	require.Equal(t, "and 90 more", lines[10])
}
