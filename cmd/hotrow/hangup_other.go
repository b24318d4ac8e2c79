//go:build !unix

package main

import "os"

// hangup is nil: the system has no signal for it, a reload is a restart.
var hangup os.Signal
