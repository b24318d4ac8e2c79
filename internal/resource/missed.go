package resource

import (
	"context"

	"github.com/hotrow/hotrow/internal/row"
)

// OnDisk reports whether a document that memory does not have may be on disk.
func (r *Resource) OnDisk() bool { return r.form.Load().disk != nil }

// A Missed is the read of a document that Hit has not found: begun by Begin, which
// waits for nothing but the disk, and ended by Answer.
type Missed struct {
	r  *Resource
	of row.Format
	rd pending
}

// Begin begins the read. key may alias a buffer.
func (r *Resource) Begin(key row.Key, of row.Format) Missed {
	o := Options{Format: of, missed: true}
	return Missed{r, of, r.form.Load().open(context.Background(), key, &o)}
}

// Ready reports whether Answer does not wait.
func (m *Missed) Ready() bool {
	if m.rd.lease == nil {
		return true
	}
	select {
	case <-m.rd.lease.Done():
		return true
	default:
		return false
	}
}

// Answer is what Get returns, with its errors.
func (m *Missed) Answer(ctx context.Context) (Answer, error) {
	a, err := m.rd.wait(ctx, &Options{Format: m.of})
	if m.r.outdated(m.rd.f, err, monotonic()) {
		return m.r.Get(ctx, m.rd.key, Options{Format: m.of})
	}
	return a, err
}
