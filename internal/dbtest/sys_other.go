//go:build !linux

package dbtest

import (
	"errors"
	"os/exec"
)

// errLinux is why a test that freezes or kills processes cannot run here.
var errLinux = errors.New("processes are frozen, killed and listed on Linux only")

// dieWithParent does nothing: only Linux ties a child to its parent.
func dieWithParent(*exec.Cmd) {}

// An account is who runs a server: here always the user of the tests.
type account struct{}

func serverAccount(string) (account, error) { return account{}, nil }

func (account) apply(*exec.Cmd) {}

func (account) own(string) error { return nil }

func family(int) ([]int, error) { return nil, errLinux }

func pause([]int) error { return errLinux }

func resume([]int) error { return errLinux }

func kill([]int) error { return errLinux }

// alive errs on the side of leaving a directory alone.
func alive(int) bool { return true }

func within(string) []int { return nil }
