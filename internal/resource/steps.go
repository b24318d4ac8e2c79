package resource

import (
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
)

// Steps are how long the parts of an answer took that memory did not have; 0: there was no
// such part.
type Steps struct {
	Lease    time.Duration // until it was this reader's turn to load, or another's load was done
	Pool     time.Duration // until a connection was free
	Database time.Duration // the statements; of a write, from its begin to its commit
	Encode   time.Duration // what was read, as bytes
}

// A loadTiming is how long the parts of one load took. What is plain is written before
// any of its leases ends.
type loadTiming struct {
	begun    int64 // when the database was to be asked
	pool     int64 // nanoseconds
	database int64
	encode   atomic.Int64

	elsewhere bool           // see sourceState.reads
	shows     fresh.Position // see fresh.Space.Saw
}

// steps are those of a reader who began at begun. t is nil where another has loaded.
func (t *loadTiming) steps(begun int64) Steps {
	if t == nil {
		return Steps{Lease: time.Duration(monotonic() - begun)}
	}
	return Steps{Lease: time.Duration(t.begun - begun), Pool: time.Duration(t.pool),
		Database: time.Duration(t.database), Encode: time.Duration(t.encode.Load())}
}
