// Package agent is the node agent of nearside: the importable form of the
// command nearside run.
//
// An Agent follows a source of Services, EndpointSlices and Nodes, asks a
// selector which endpoints a connection may go to, and keeps the tables
// "ip nearside" and "ip6 nearside" of the kernel equal to the answer:
//
//	a, err := agent.New(agent.Options{
//		NodeName: "node-a",
//		Source:   &informer.Manifests{Paths: []string{"/etc/nearside"}},
//	})
//	if err != nil {
//		return err
//	}
//	return a.Run(ctx)
//
// # Rounds
//
// The agent works in rounds. A round is a list of steps, each a function of its
// own: snapshot (what changed), select (which endpoints), plan (as table
// content), diff (as a transaction), apply (in the kernel), report (logs,
// metrics, hooks). Everything before apply is pure and needs no privilege; only
// report logs or counts.
//
// A partial round costs what changed. A full round reads the kernel's table back
// and commits the difference; it happens at the start and after a failure.
// Nothing is written before the source has listed everything once, and the
// tables stay when the agent ends, so a restart is not noticed by connections.
//
// # Failures
//
// The two IP families are two tables with nothing in common: one that fails
// does not hold up the other. A failed transaction leaves the kernel as it was
// and is repeated as a full round, later and later, at most 30 seconds apart. A
// service whose objects the kernel keeps refusing is put in quarantine: it is
// left out and tried again from time to time while all others go on.
//
// # What it does not do
//
// The agent never runs another program, never touches a table that is not its
// own, and never changes an object of the API.
package agent
