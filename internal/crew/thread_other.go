//go:build !linux

package crew

// A thread does nothing where a priority is the whole process's.
type thread struct{}

func newThread(int) *thread { return &thread{} }

func (*thread) yield(bool) {}
