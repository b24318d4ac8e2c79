//go:build !linux

package tier

import (
	"context"
	"errors"
)

// KeepHuge is for Linux.
func (m *Memory) KeepHuge(context.Context) error {
	return errors.New("huge pages: only on Linux")
}
