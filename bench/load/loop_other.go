//go:build !linux

package load

import (
	"context"
	"errors"
)

// haveLoops says that this system has no epoll.
const haveLoops = false

// runLoops is never called: withDefaults chooses goroutines here.
func runLoops(context.Context, *run) error {
	return errors.New("event loops need Linux")
}
