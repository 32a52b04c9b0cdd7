package semantics

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// kernelCases are about what happens in the kernel and to the process.
var kernelCases = []reportedCase{
	{
		number: "019", url: kubernetesIssues + "139628",
		says:      "UDP clients with one port leave an endpoint that is gone, also if no other is there.",
		elsewhere: []string{"conntrack.TestClientsOfAServiceThatIsScaledToZeroAreRefusedAndServedAgain"},
		rows: []row{{
			name:  "a UDP Service is scaled to zero and up again",
			given: objects(web(nodePort), endpoints("web", farA8())),
			then: []step{
				{when: "one", act: udpClients(reaches(farA))},
				{when: "none", change: objects(endpoints("web")), act: udpClients(refused)},
				{when: "another", change: objects(endpoints("web", "10.1.2.6@node-b")), act: udpClients(reaches("10.1.2.6:8080"))},
			},
		}},
	},
	{
		number: "021", url: kubernetesIssues + "48370",
		says:      "A UDP client that is older than the first endpoint gets through.",
		elsewhere: []string{"conntrack.TestAClientThatIsOlderThanTheFirstEndpointGetsThrough"},
		rows: []row{{
			name:  "a UDP Service gets its first endpoint",
			given: objects(web(nodePort), endpoints("web")),
			then: []step{
				{when: "none", act: udpClients(refused)},
				{when: "the first", change: objects(endpoints("web", farA8())), act: udpClients(reaches(farA))},
			},
		}},
	},
	{
		number: "050", url: kubernetesIssues + "75360",
		says:      "A restart interrupts no connection and forgets no client.",
		elsewhere: []string{"cmd/nearside.TestRestartChangesNothing"},
		rows: []row{{
			name:  "clients stay with their endpoints while the agent is away and after it",
			given: objects(web(nodePort, sticky(600)), endpoints("web", nearA8(), nearB8())),
			then: []step{{when: "with a restart", act: func(t *testing.T, s *stage) {
				t.Helper()
				pod, client := s.where(t, aPod, webIP), s.where(t, aClient, atNode)
				same := func() {
					for range fewProbes {
						require.Equal(t, pod, s.where(t, aPod, webIP))
						require.Equal(t, client, s.where(t, aClient, atNode))
					}
				}
				for range 3 {
					s.stop()
					same()
					s.start(t, nil)
					same()
				}
			}}},
		}},
	},
	{
		number: "052", url: kubernetesIssues + "121362",
		says:      "After many changes the state is that of a fresh start.",
		elsewhere: []string{"informer.TestIncrementalEqualsFull", "nft.TestIncrementalEqualsFresh", "nft.TestKernelDiffGivesTheSameAsFromScratch"},
	},
	{
		number: "054", url: "https://github.com/k3s-io/k3s/issues/7542",
		says:      "Rules that another program wiped come back.",
		elsewhere: []string{"cmd/nearside.TestRunRepairsWhatOthersChanged"},
		rows: []row{{
			name:  "a table that was wiped comes back with the next change or start",
			given: objects(web(nodePort), endpoints("web", nearA8())),
			want:  from(sources(aPod), webIP, reaches(nearA)),
			then: []step{
				{when: "wiped", act: wipe, change: nil, want: from(sources(aPod), webIP, untouched)},
				{when: "after a change", change: objects(endpoints("web", nearB8())), want: from(sources(aPod), webIP, reaches(nearB))},
				{when: "wiped and started again", act: func(t *testing.T, s *stage) {
					t.Helper()
					wipe(t, s)
					s.stop()
					s.start(t, nil)
				}, want: from(sources(aPod), webIP, reaches(nearB))},
			},
		}},
		notYet: "without a change of objects nothing notices",
	},
	{
		number: "059", url: kubernetesIssues + "135639",
		says:      "The cost of a change follows its size; the first load grows with the number of endpoints.",
		elsewhere: []string{"informer.TestTheCostOfAChangeDoesNotGrowWithTheNumberOfServices"},
		notYet:    "of the kernel's part there are benchmarks and no limit",
	},
	{
		number: "062", url: kubernetesIssues + "128928",
		says:      "Nothing stays of what was deleted.",
		elsewhere: []string{"informer.TestNothingStaysOfWhatWasDeleted", "nft.TestNothingStaysBehindADeletedService"},
	},
	{
		number: "063", url: "https://github.com/cloudnativelabs/kube-router/issues/739",
		says:      "While the API server is away the last known state stays in force.",
		elsewhere: []string{"informer.TestKubernetesSurvivesAnOutage", "agent.TestNothingIsWrittenBeforeTheFirstCompleteList"},
	},
	{
		number: "065", url: "https://github.com/siderolabs/talos/issues/14001",
		says:      "A large transaction succeeds with a small receive buffer.",
		elsewhere: []string{"nft.TestALargeTransactionWithASmallReceiveBufferSucceeds"},
	},
	{
		number: "067", url: kubernetesIssues + "136786",
		says:      "Tables of other programs are neither read nor touched.",
		elsewhere: []string{"cmd/nearside.TestApplyLeavesOtherTablesAlone"},
		rows: []row{{
			name:  "another program has a set of concatenated ranges with comments, and changes it",
			given: objects(web(), endpoints("web", nearA8())),
			then: []step{{when: "with a foreign table", act: func(t *testing.T, s *stage) {
				t.Helper()
				nft := func(command string) string { return s.Node.Run(t, "nft", command) }
				nft(`add table inet other-fw; add set inet other-fw guests { typeof ip saddr . th dport; flags interval; elements = { 203.0.113.0/24 . 1-1024 comment "guests" }; }`)
				defer nft("delete table inet other-fw")
				before := nft("list table inet other-fw")
				s.stop()
				s.start(t, nil)
				s.change(t, endpoints("web", nearB8()))
				s.checkAll(t, "next to it", from(sources(aPod), webIP, reaches(nearB)))
				require.Equal(t, before, nft("list table inet other-fw"))
				nft("add element inet other-fw guests { 198.51.100.0/24 . 22 }")
				s.change(t, endpoints("web", nearA8()))
				s.checkAll(t, "after it changed", from(sources(aPod), webIP, reaches(nearA)))
			}}},
		}},
	},
	{
		number: "069", url: "https://github.com/kubernetes/kops/issues/17915",
		says:      "A setting of conntrack that is missing is no reason to end. Medium confidence in the report; kube-proxy ends (C2).",
		elsewhere: []string{"hostsetup.TestMissingSettingsComeWithTheModule", "hostsetup.TestMissingSettingsThatStayAwayAreOneErrorThatNeedNotBeTheEnd"},
	},
}

// wipe empties the whole ruleset, as reloading a host's firewall does.
func wipe(t *testing.T, s *stage) {
	t.Helper()
	s.Node.Run(t, "nft", "flush ruleset")
}
