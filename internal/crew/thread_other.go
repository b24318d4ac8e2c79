//go:build !linux

package crew

import "time"

// A thread does nothing where a priority is the whole process's.
type thread struct{}

func takeThread(int) *thread { return &thread{} }

func (*thread) release() {}

func (*thread) mayStarve() bool { return false }

func (*thread) yield(bool) {}

func (*thread) hurry(bool) {}

func (*thread) used() time.Duration { return 0 }
