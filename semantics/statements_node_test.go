package semantics

// nodeStatements are those about frontends of load balancers, refusals, and the
// agent on its node.
var nodeStatements = []statement{
	{number: "LB1", says: "Addresses of load balancers are served unless their ipMode is Proxy."},
	{number: "LB2", says: "Source ranges hold for load balancers' addresses, against pods and the node too, and silently."},
	{number: "LB3", says: "A range of all addresses is no restriction."},
	{
		number: "LB4", says: "If a range holds the node's address, connections from the load balancer's own address pass too.",
	},
	{number: "LB6", says: "Pods and the node are served at a load balancer's address without leaving the node, with or without node ports."},
	{
		number: "LB7", says: "External addresses are served like those of load balancers, without ranges.",
		notYet: "they cannot be switched off",
	},
	{
		number: "D1", says: "Without a usable endpoint anywhere new connections are refused at every address.",
		elsewhere: []string{"nft.TestTrafficRefusalsReachTheCaller"},
	},
	{number: "D2", says: "With endpoints that the policy does not allow they meet silence."},
	{number: "D3", says: "What a ClusterIP does not serve is refused, ports, protocols and echo requests alike."},
	{
		number: "D4", says: "Addresses of ServiceCIDRs that no Service has meet silence.",
		elsewhere: []string{"nft.TestTrafficFromOutside"},
	},
	{number: "D5", says: "Other ports of external addresses and of nodes are left alone."},
	{number: "S1", says: "A client comes back to its endpoint until it has been away for the timeout."},
	{number: "S2", says: "The memory is a port's, shared by all its addresses."},
	{
		number: "S3", says: "A lost endpoint is forgotten at once and for good.",
		elsewhere: []string{"nft.TestALostEndpointIsForgottenWithTheChangeAndNobodyElseIs"},
	},
	{number: "S4", says: "Memory never leads around policy Local."},
	{number: "S5", says: "Changes elsewhere and restarts forget nobody."},
	{
		number: "U1", says: "UDP flows that lead to no serving endpoint are deleted, also those from before the first endpoint.",
		elsewhere: []string{"conntrack.TestWhichFlowsAreStale", "conntrack.TestClientsOfAServiceThatIsScaledToZeroAreRefusedAndServedAgain"},
	},
	{
		number: "U2", says: "Flows of TCP and SCTP are never deleted.",
		elsewhere: []string{"conntrack.TestCleanAgainstTheKernel"},
	},
	{
		number: "U3", says: "Flows to an endpoint that serves stay.",
		elsewhere: []string{"conntrack.TestFlowsToAnEndpointThatServesStay"},
	},
	{number: "U4", says: "Flows are deleted after the rules are in force."},
	{
		number: "C1", says: "The number of connections is raised with the number of processors, and the hash table with it.",
		elsewhere: []string{"hostsetup.TestMaxConnections", "hostsetup.TestTheHashTableIsRaisedByEitherOfItsSettings"},
	},
	{
		number: "C2", says: "Timeouts of TCP are set, others if asked for, and only what differs is written.",
		elsewhere: []string{"hostsetup.TestApplySetsWhatDiffers", "hostsetup.TestApplyToTheKernel"},
	},
	{
		number: "C3", says: "The OOM score is set; what needs privileges can be done by a run of its own.",
		elsewhere: []string{"hostsetup.TestSetOOMScoreAdj", "deploy.TestAgentWorksInItsContainer"},
	},
	{
		number: "C4", says: "An older kernel is refused, unless told otherwise.",
		elsewhere: []string{"hostsetup.TestCheckKernel"},
	},
	{
		number: "H1", says: "Load balancers can ask the health check node port of a Service under policy Local.",
		elsewhere: []string{"health.TestPortsFollowTheServices", "health.TestFamiliesAreApart"},
	},
	{
		number: "H2", says: "The answer is yes while this node has a ready endpoint and the proxy is healthy.",
		elsewhere: []string{"health.TestHealthCheckFollowsTheLastLocalEndpoint", "health.TestCountLocal"},
	},
	{
		number: "H3", says: "Headers and body say how many endpoints there are.",
		elsewhere: []string{"health.TestAnswerSaysHowManyEndpointsAreHere"},
	},
	{
		number: "H4", says: "Ports follow the Services; one that is taken is told and tried again.",
		elsewhere: []string{"health.TestTakenPortIsReportedOnceAndTriedAgain"},
	},
	{
		number: "H6", says: "The proxy is healthy unless a change waits too long.",
		elsewhere: []string{"agent.TestFailureShowsAtOnceAndUnhealthyFollows", "agent.TestOneUnhealthyFamilyMakesTheAgentUnhealthy"},
	},
	{
		number: "H7", says: "/healthz and /livez answer with times and families.",
		elsewhere: []string{"agent.TestHealthEndpoints"},
	},
	{
		number: "H8", says: "/healthz alone also says whether the node may get traffic.",
		elsewhere: []string{"agent.TestANodeThatIsNotEligibleShowsInHealthzOnly"},
	},
	{
		number: "H9", says: "The metrics server has /metrics and some pages for debugging.",
		elsewhere: []string{"agent.TestMetricsEndpoint"},
		notYet:    "there is /metrics only",
	},
	{
		number: "H10", says: "An address that is taken is tried again; if asked for, it is the end.",
		notYet: "it is tried again every five seconds, which no test shows, and it cannot be made the end",
	},
	{
		number: "W1", says: "The node's name is the host's in lower case, or the given one.",
		elsewhere: []string{"agent.TestNewSaysWhatIsWrong"},
		notYet:    "no test shows that it is the host's name without the flag",
	},
	{
		number: "W2", says: "The primary address is the first internal one, or else the first external one.",
		elsewhere: []string{"informer.TestWhatMattersOfTheOwnNode"},
	},
	{
		number: "W4", says: "Both families are served where the kernel has them, and neither holds up the other.",
		elsewhere: []string{"agent.TestFailureOfOneFamilyIsNotTheOthers", "agent.TestIPv6IsLeftOutWhereItIsDisabled"},
	},
	{number: "W5", says: "SCTP is served like TCP."},
	{
		number: "K1", says: "Destinations and sources are translated at the usual priorities, so that other tables find their place.",
		elsewhere: []string{"nft.TestGoldenRulesets"},
		notYet:    "refusals and source ranges are in the nat chains too, and not at the priorities kube-proxy has for them; see above",
	},
	{
		number: "K2", says: "Only tables of its own are touched.",
		elsewhere: []string{"cmd/nearside.TestApplyLeavesOtherTablesAlone", "nft.TestCleanupRemovesOurTablesOnly"},
	},
	{
		number: "K3", says: "Changes are atomic: no connection meets half of one.",
		elsewhere: []string{"nft.TestTrafficLosesNothingUnderChanges"},
	},
	{
		number: "Y1", says: "Nothing is written before everything is listed; then what vanished meanwhile goes. Rules stay on exit.",
		elsewhere: []string{"agent.TestNothingIsWrittenBeforeTheFirstCompleteList", "cmd/nearside.TestRestartChangesNothing"},
	},
	{
		number: "Y2", says: "Rules that kube-proxy left are removed, and ours on demand.",
		elsewhere: []string{"nft.TestCleanupRemovesOurTablesOnly"},
		notYet:    "rules of kube-proxy are left alone; its own --cleanup removes them",
	},
	{
		number: "Y6", says: "An object that cannot be used costs only itself.",
		elsewhere: []string{"agent.TestServiceTheKernelRefusesGoesIntoQuarantineAlone", "cmd/nearside.TestBadObjectsInTheKernel"},
	},
	{
		number: "Y7", says: "The agent needs to list and watch four kinds and to write events, and no more.",
		elsewhere: []string{"deploy.TestPermissionsAreThoseOfTheContract"},
	},
	{
		number: "X1", says: "Metrics tell how long changes take.",
		elsewhere: []string{"agent.TestMetricsCount"},
		notYet:    "the names are nearside's, and the time since the change of the object is not measured",
	},
	{
		number: "X2", says: "Metrics tell how many changes wait and were made.",
		notYet: "they do not",
	},
	{
		number: "X3", says: "Metrics tell where no local endpoint is, and what the health pages answered.",
		notYet: "they do not",
	},
	{
		number: "X4", says: "Metrics tell of failed transactions and deleted flows.",
		elsewhere: []string{"agent.TestMetricsCount"},
		notYet:    "the names are nearside's",
	},
	{
		number: "X5", says: "The time from a change of a slice to the kernel is measured.",
		notYet: "it is not",
	},
	{
		number: "X6", says: "The start is told by an Event of the Node.",
		notYet: "no Events are written",
	},
	{
		number: "F1", says: "The configuration file has the settings that matter.",
		notYet: "there is no configuration file; flags have those that do",
	},
	{
		number: "F2", says: "The flags of kube-proxy that matter exist under their names.",
		elsewhere: []string{"cmd/nearside.TestFlagsOfKubeProxy"},
		notYet:    "not all of them",
	},
	{
		number: "I1", says: "It is documented that node ports are served at the primary address, and not at localhost.",
		elsewhere: []string{"semantics.TestPageSaysWhatMustBeDocumented"},
	},
	{
		number: "I2", says: "It is documented that nothing is accepted on behalf of the host's firewall.",
		elsewhere: []string{"semantics.TestPageSaysWhatMustBeDocumented"},
	},
	{
		number: "I3", says: "It is documented that ports no Service has are refused.",
		elsewhere: []string{"semantics.TestPageSaysWhatMustBeDocumented"},
	},
}
