package hostsetup

import (
	"context"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const netfilter = "proc/sys/net/netfilter/"

func TestApplySetsWhatDiffers(t *testing.T) {
	for _, row := range []struct {
		name    string
		options Options
		host    map[string]string // differs from a fresh one in this
		want    map[string]string // differs from that in this
		changes []Change
	}{
		{
			name:    "the defaults on a fresh host",
			options: Defaults(),
			want: map[string]string{
				netfilter + "nf_conntrack_max":                     "131072",
				"sys/module/nf_conntrack/parameters/hashsize":      "32768",
				netfilter + "nf_conntrack_tcp_timeout_established": "86400",
				netfilter + "nf_conntrack_tcp_timeout_close_wait":  "3600",
			},
			changes: []Change{
				{Setting: "nf_conntrack_max", From: 65536, To: 131072},
				{Setting: "hashsize of nf_conntrack", From: 16384, To: 32768},
				{Setting: "nf_conntrack_tcp_timeout_established", From: 432000, To: 86400},
				{Setting: "nf_conntrack_tcp_timeout_close_wait", From: 60, To: 3600},
			},
		},
		{
			name:    "the defaults on a host with many CPUs",
			options: Defaults(),
			host:    map[string]string{"sys/devices/system/cpu/online": "0-15"},
			want: map[string]string{
				netfilter + "nf_conntrack_max":                     "524288",
				"sys/module/nf_conntrack/parameters/hashsize":      "131072",
				netfilter + "nf_conntrack_tcp_timeout_established": "86400",
				netfilter + "nf_conntrack_tcp_timeout_close_wait":  "3600",
			},
			changes: []Change{
				{Setting: "nf_conntrack_max", From: 65536, To: 524288},
				{Setting: "hashsize of nf_conntrack", From: 16384, To: 131072},
				{Setting: "nf_conntrack_tcp_timeout_established", From: 432000, To: 86400},
				{Setting: "nf_conntrack_tcp_timeout_close_wait", From: 60, To: 3600},
			},
		},
		{
			name:    "more connections than asked for stay",
			options: Options{MaxPerCore: DefaultMaxPerCore, Min: DefaultMin},
			host: map[string]string{
				netfilter + "nf_conntrack_max":                "1000000",
				"sys/module/nf_conntrack/parameters/hashsize": "250000",
			},
		},
		{
			name:    "a hash table that is too small is raised on its own",
			options: Options{MaxPerCore: DefaultMaxPerCore, Min: DefaultMin},
			host:    map[string]string{netfilter + "nf_conntrack_max": "131072"},
			want:    map[string]string{"sys/module/nf_conntrack/parameters/hashsize": "32768"},
			changes: []Change{{Setting: "hashsize of nf_conntrack", From: 16384, To: 32768}},
		},
		{
			name:    "without a number for each CPU the minimum does not count",
			options: Options{Min: DefaultMin},
		},
		{
			name: "everything that is left alone by default",
			options: Options{
				UDPTimeout: 10 * time.Second, UDPStreamTimeout: 3 * time.Minute, TCPBeLiberal: true,
			},
			want: map[string]string{
				netfilter + "nf_conntrack_udp_timeout":        "10",
				netfilter + "nf_conntrack_udp_timeout_stream": "180",
				netfilter + "nf_conntrack_tcp_be_liberal":     "1",
			},
			changes: []Change{
				{Setting: "nf_conntrack_udp_timeout", From: 30, To: 10},
				{Setting: "nf_conntrack_udp_timeout_stream", From: 120, To: 180},
				{Setting: "nf_conntrack_tcp_be_liberal", From: 0, To: 1},
			},
		},
		{
			name:    "timeouts are lowered and raised",
			options: Options{TCPEstablishedTimeout: time.Hour, TCPCloseWaitTimeout: time.Minute},
			want:    map[string]string{netfilter + "nf_conntrack_tcp_timeout_established": "3600"},
			changes: []Change{{Setting: "nf_conntrack_tcp_timeout_established", From: 432000, To: 3600}},
		},
		{name: "nothing at all", host: map[string]string{netfilter + "nf_conntrack_max": "1"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := maps.Clone(fresh)
			maps.Copy(before, row.host)
			tr := newTree(t, before)
			row.options.Root = tr.root
			changes, err := Apply(context.Background(), row.options)
			require.NoError(t, err)
			require.Equal(t, row.changes, changes)
			maps.Copy(before, row.want)
			require.Equal(t, before, tr.all(t))

			again, err := Apply(context.Background(), row.options)
			require.NoError(t, err)
			require.Empty(t, again)
		})
	}
}

func TestNothingIsReadWhereNothingIsAskedFor(t *testing.T) {
	changes, err := Apply(context.Background(), Options{
		Root: t.TempDir(), Min: 5,
		LoadConntrack: func(context.Context) error { panic("loaded") },
	})
	require.NoError(t, err)
	require.Empty(t, changes)
}

func TestMaxConnections(t *testing.T) {
	for _, row := range []struct {
		name                 string
		perCore, least, cpus int
		want                 int
	}{
		{name: "the minimum", perCore: 32768, least: 131072, cpus: 1, want: 131072},
		{name: "so many for each CPU", perCore: 32768, least: 131072, cpus: 8, want: 262144},
		{name: "the cap, reached", perCore: 32768, least: 131072, cpus: 32, want: 1048576},
		{name: "the cap, exceeded", perCore: 32768, least: 131072, cpus: 33, want: 1048576},
		{name: "a cap that beats a larger minimum", perCore: 32768, least: 2000000, cpus: 33, want: 1048576},
		{name: "a larger minimum without a cap", perCore: 32768, least: 2000000, cpus: 32, want: 2000000},
		{name: "no minimum", perCore: 10, cpus: 2, want: 20},
		{name: "very large numbers", perCore: maxNumber, least: maxNumber, cpus: 1 << 16, want: 1048576},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.want, maxConnections(row.perCore, row.least, row.cpus))
		})
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, row := range []struct {
		options Options
		want    string
	}{
		{options: Options{MaxPerCore: -1}, want: "check --conntrack-max-per-core: -1 is not a number from 0 to 2147483647"},
		{options: Options{Min: 1 << 31}, want: "check --conntrack-min: 2147483648 is not a number from 0 to 2147483647"},
		{
			options: Options{UDPTimeout: -time.Second},
			want:    `check --conntrack-udp-timeout: "-1s" is not a time of whole seconds, or 0 to leave the setting alone`,
		},
		{
			options: Options{TCPCloseWaitTimeout: 1500 * time.Millisecond},
			want:    `check --conntrack-tcp-timeout-close-wait: "1.5s" is not a time of whole seconds, or 0 to leave the setting alone`,
		},
		{
			options: Options{TCPEstablishedTimeout: 1<<31*time.Second + time.Second},
			want:    `check --conntrack-tcp-timeout-established: "596523h14m9s" is not a time of whole seconds, or 0 to leave the setting alone`,
		},
	} {
		t.Run(row.want, func(t *testing.T) {
			tr := newTree(t, fresh)
			row.options.Root = tr.root
			_, err := Apply(context.Background(), row.options)
			require.EqualError(t, err, row.want)
			require.Equal(t, fresh, tr.all(t))
		})
	}
}

// Case 069 of the users' troubles: the module is not loaded.
func TestMissingSettingsComeWithTheModule(t *testing.T) {
	settings := maps.Clone(fresh)
	maps.DeleteFunc(settings, func(path, _ string) bool { return strings.Contains(path, "conntrack") })
	tr := newTree(t, settings)
	o := Defaults()
	o.Root = tr.root
	loaded := 0
	o.LoadConntrack = func(context.Context) error {
		loaded++
		for path, value := range fresh {
			tr.write(t, path, value)
		}
		return nil
	}
	changes, err := Apply(context.Background(), o)
	require.NoError(t, err)
	require.Len(t, changes, 4)
	require.Equal(t, 1, loaded)

	_, err = Apply(context.Background(), o)
	require.NoError(t, err)
	require.Equal(t, 1, loaded, "what is there need not be loaded")
}

func TestMissingSettingsThatStayAwayAreOneErrorThatNeedNotBeTheEnd(t *testing.T) {
	for name, refused := range map[string]error{"and nobody says why": nil, "and the kernel says why": fs.ErrPermission} {
		t.Run(name, func(t *testing.T) {
			settings := maps.Clone(fresh)
			maps.DeleteFunc(settings, func(path, _ string) bool { return strings.Contains(path, "conntrack") })
			tr := newTree(t, settings)
			o := Defaults()
			o.Root = tr.root
			o.LoadConntrack = func(context.Context) error { return refused }
			_, err := Apply(context.Background(), o)
			require.ErrorIs(t, err, ErrNotLoaded)
			require.ErrorContains(t, err, tr.root+"/"+netfilter+"nf_conntrack_max does not exist: load it on the host")
			require.NotContains(t, err.Error(), "\n")
			if refused != nil {
				require.ErrorIs(t, err, refused)
			}

			// The rules have brought it meanwhile.
			for path, value := range fresh {
				tr.write(t, path, value)
			}
			changes, err := Apply(context.Background(), o)
			require.NoError(t, err)
			require.Len(t, changes, 4)
		})
	}
}

func TestOneSettingThatTheKernelLacksDoesNotKeepFromTheOthers(t *testing.T) {
	tr := newTree(t, fresh)
	tr.remove(t, netfilter+"nf_conntrack_tcp_timeout_established")
	o := Defaults()
	o.Root = tr.root
	changes, err := Apply(context.Background(), o)
	require.Len(t, changes, 3)
	require.NotErrorIs(t, err, ErrNotLoaded)
	require.ErrorIs(t, err, fs.ErrNotExist)
	var failed *Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "nf_conntrack_tcp_timeout_established", failed.Setting)
	require.Equal(t, "--conntrack-tcp-timeout-established=0", failed.Leave)
	require.ErrorContains(t, err, "this kernel has no such setting: do without it, or have it left alone by --conntrack-tcp-timeout-established=0")
	require.NotContains(t, tr.all(t), netfilter+"nf_conntrack_tcp_timeout_established", "settings are not made up")
}

func TestTheHashTableIsRaisedByEitherOfItsSettings(t *testing.T) {
	tr := newTree(t, fresh)
	tr.remove(t, "sys/module")
	o := Options{Root: tr.root, MaxPerCore: DefaultMaxPerCore, Min: DefaultMin}
	changes, err := Apply(context.Background(), o)
	require.NoError(t, err)
	require.Contains(t, changes, Change{Setting: "nf_conntrack_buckets", From: 16384, To: 32768})

	tr = newTree(t, fresh)
	tr.remove(t, "sys/module")
	tr.remove(t, netfilter+"nf_conntrack_buckets")
	o.Root = tr.root
	changes, err = Apply(context.Background(), o)
	require.Equal(t, []Change{{Setting: "nf_conntrack_max", From: 65536, To: 131072}}, changes)
	require.ErrorContains(t, err, "hashsize")
	require.ErrorContains(t, err, "nf_conntrack_buckets")
	require.NotContains(t, err.Error(), "\n")
}

func TestSettingsThatAreNoNumbers(t *testing.T) {
	tr := newTree(t, fresh)
	tr.write(t, netfilter+"nf_conntrack_max", "many")
	tr.write(t, "sys/devices/system/cpu/online", "0-1")
	_, err := Apply(context.Background(), Options{Root: tr.root, MaxPerCore: 1 << 20})
	require.ErrorContains(t, err, `"many" is not a number`)

	tr.write(t, "sys/devices/system/cpu/online", "all")
	_, err = Apply(context.Background(), Options{Root: tr.root, MaxPerCore: 1 << 20})
	require.ErrorContains(t, err, `"all" in `+tr.root+"/sys/devices/system/cpu/online is not a list such as 0-3,5: have it left alone by --conntrack-max-per-core=0")
}

func TestSeveralFailuresAreOneLineAndAllFound(t *testing.T) {
	tr := newTree(t, fresh)
	tr.remove(t, netfilter+"nf_conntrack_udp_timeout")
	tr.write(t, netfilter+"nf_conntrack_udp_timeout_stream", "x")
	_, err := Apply(context.Background(), Options{Root: tr.root, UDPTimeout: time.Second, UDPStreamTimeout: time.Second})
	require.NotContains(t, err.Error(), "\n")
	var all failures
	require.ErrorAs(t, err, &all)
	require.Len(t, all, 2)
	for i, want := range []string{"nf_conntrack_udp_timeout", "nf_conntrack_udp_timeout_stream"} {
		var one *Error
		require.ErrorAs(t, all[i], &one)
		require.Equal(t, want, one.Setting)
	}
}
