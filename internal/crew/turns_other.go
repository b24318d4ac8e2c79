//go:build !linux

package crew

// ShortTurns does nothing where the scheduler takes no advice.
func ShortTurns() error { return nil }
