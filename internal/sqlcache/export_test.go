package sqlcache

import "github.com/hotrow/hotrow/internal/resource"

// Break breaks a rule, before the first session begins.
func (c *Cache) Break(r Rule) { c.broken = r }

// The rules that tests break.
const (
	NoHold        = noHold
	NoFingerprint = noFingerprint
	NoDeps        = noDeps
	NoRole        = noRole
	NoRows        = noRows
)

// Rests reports whether the catalogue is not read, and has not been for so long that it counts no
// more.
func (c *Cache) Rests() bool {
	return c.reader.rests.Load() && resource.Clock()-c.readAt.Load() > int64(lookLimit)
}

// Number returns that of the definitions at present.
func (c *Cache) Number() uint64 { return c.NewSession(0).Number() }

// Looked has f called when a copy was found good and was not given away yet.
func (c *Cache) Looked(f func()) { c.looked = f }

// FencedAt returns when the last fence began that was reached.
func (c *Cache) FencedAt() int64 { return c.fresh.Now().FencedAt() }
