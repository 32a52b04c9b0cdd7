// Package semantics holds no code, only tests: they show, statement by
// statement, that nearside does what a Kubernetes Service proxy must do.
//
// Each row of TestSemantics is a sentence that a packet can prove or disprove.
// It says which objects there are, how they change, and what becomes of
// connections from here to there. The agent under test is the real one: it runs
// in a network namespace, follows the objects, and writes rules into the kernel,
// through which packets are sent. So a row covers selection, planning and the
// table together, as a user meets them, and is true in both IP families.
//
// Sub-tests are named after statements, so that
//
//	go test ./semantics -run 'Semantics/LB2/'
//
// shows one rule. The table of all statements says of each how it is shown: by
// such a row, by a test elsewhere, or not yet. The page docs/semantics.md is
// written from it with
//
//	go test ./semantics -run Page -update
package semantics
