//go:build !linux

package tier

import (
	"context"
	"errors"
)

// KeepHuge is for Linux.
func KeepHuge(context.Context, func() uint64) error {
	return errors.New("huge pages: only on Linux")
}
