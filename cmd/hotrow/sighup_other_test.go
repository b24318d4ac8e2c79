//go:build !unix

package main

import "testing"

// sighup is for systems that have that signal.
func sighup(t *testing.T) {
	t.Helper()
	t.Skip("this system has no SIGHUP")
}
