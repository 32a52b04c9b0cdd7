// Command nearside programs the Services of a Kubernetes node into the kernel,
// and shows and explains what it does. Run "nearside --help".
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
