// Package examples holds small programs that use nearside as a library, one idea
// each, and the manifests of a small cluster to try things on. README.md is the
// index. This package itself is empty: its tests build and run the programs.
package examples
