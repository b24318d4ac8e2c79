package sqlcache

// Break breaks a rule, before the first session begins.
func (c *Cache) Break(r Rule) { c.broken = r }

// The rules that tests break.
const (
	NoHold        = noHold
	NoFingerprint = noFingerprint
	NoDeps        = noDeps
	NoRole        = noRole
)

// How often the catalogue is read, and how long that counts.
const (
	LookEvery = lookEvery
	LookLimit = lookLimit
)
