package hostsetup

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCountList(t *testing.T) {
	for list, want := range map[string]int{
		"0": 1, "0-1": 2, "0-3,5": 5, "0,2,4-7": 6, "3-3": 1, "0-8191": 8192,
	} {
		n, ok := countList(list)
		require.True(t, ok, list)
		require.Equal(t, want, n, list)
	}
	for _, list := range []string{"", ",", "0-", "-1", "3-1", "a", "0-1,", "0 1", "99999999999"} {
		_, ok := countList(list)
		require.False(t, ok, list)
	}
}

func FuzzCountList(f *testing.F) {
	f.Add("0-3,5")
	f.Fuzz(func(t *testing.T, list string) {
		if n, ok := countList(list); ok && n < 1 {
			t.Fatalf("%q is a list of %d", list, n)
		}
	})
}

func TestCheckKernel(t *testing.T) {
	for _, row := range []struct {
		release string
		want    string // empty: fine
	}{
		{release: "5.13.0"},
		{release: "5.13.0-rc1"},
		{release: "5.13-rc1"},
		{release: "6.1.0-28-cloud-amd64"},
		{release: "6.18.44-fc-v1045"},
		{release: "10.0.1"},
		{release: "5.12.19", want: `check kernel version: "5.12.19" is older than 5.13: use a newer kernel, or set NEARSIDE_SKIP_KERNEL_VERSION_CHECK=1 if it has the features of a newer one`},
		{release: "4.18.0-553.el8", want: `check kernel version: "4.18.0-553.el8" is older than 5.13: use a newer kernel, or set NEARSIDE_SKIP_KERNEL_VERSION_CHECK=1 if it has the features of a newer one`},
		{release: "6", want: `read kernel version: "6" does not begin with two numbers: set NEARSIDE_SKIP_KERNEL_VERSION_CHECK=1 if it has the features of a newer one`},
		{release: "6.x", want: `read kernel version: "6.x" does not begin with two numbers: set NEARSIDE_SKIP_KERNEL_VERSION_CHECK=1 if it has the features of a newer one`},
	} {
		t.Run(row.release, func(t *testing.T) {
			t.Setenv(SkipKernelCheckEnv, "")
			tr := newTree(t, map[string]string{"proc/sys/kernel/osrelease": row.release})
			err := CheckKernel(tr.root)
			if row.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, row.want)
			}
			t.Setenv(SkipKernelCheckEnv, "yes")
			require.NoError(t, CheckKernel(tr.root))
		})
	}
	t.Run("nothing to read", func(t *testing.T) {
		t.Setenv(SkipKernelCheckEnv, "")
		require.ErrorContains(t, CheckKernel(t.TempDir()), "read kernel version: ")
	})
	t.Run("this machine", func(t *testing.T) {
		t.Setenv(SkipKernelCheckEnv, "")
		require.NoError(t, CheckKernel("/"))
	})
}

func TestSetOOMScoreAdj(t *testing.T) {
	const file = "proc/self/oom_score_adj"
	tr := newTree(t, map[string]string{file: "0"})
	changes, err := SetOOMScoreAdj(tr.root, DefaultOOMScoreAdj)
	require.NoError(t, err)
	require.Equal(t, []Change{{Setting: "oom_score_adj", From: 0, To: -999}}, changes)
	require.Equal(t, "-999", tr.all(t)[file])

	changes, err = SetOOMScoreAdj(tr.root, DefaultOOMScoreAdj)
	require.NoError(t, err)
	require.Empty(t, changes)

	for _, score := range []int{-1001, 1001} {
		_, err := SetOOMScoreAdj(tr.root, score)
		require.ErrorContains(t, err, "is not a number from -1000 to 1000")
	}
	tr.remove(t, file)
	_, err = SetOOMScoreAdj(tr.root, 5)
	require.ErrorContains(t, err, "set oom_score_adj to 5: ")
}
