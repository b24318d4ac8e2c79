package source

import "context"

// A Trier is a Feed that can find out, before it runs, whether Run would attach soon.
type Trier interface {
	Feed

	// Try waits for what Run would wait for before it attaches, but not for long. The
	// error says what that is.
	Try(ctx context.Context) error
}
