// Package memlimit looks at the memory that the program takes: hotrow serve in a cgroup that bounds
// it, and hotrow proxy while large bodies pass. hotrow runs as a process of its own, on Linux.
//
// It holds no code of the product and is imported by nothing.
package memlimit
