//go:build !linux

package clicks

// stepBehind does nothing where a priority is the whole process's.
func stepBehind() error { return nil }
