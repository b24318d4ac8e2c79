package resource

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

const (
	// grantsKept is how long rights are taken for what they were found to be. With what a
	// request takes to decide, a right that is revoked is gone within 250 ms.
	grantsKept = 150 * time.Millisecond

	// grantsAsked is when it is asked whether they are the same yet, before anybody waits.
	grantsAsked = 100 * time.Millisecond
)

// grants are what roles may do with the tables of a source. They are read when a role asks for
// the first time, and again when the catalogue has changed.
type grants struct {
	of     source.Granter
	known  atomic.Pointer[knownGrants]
	asking atomic.Bool
	mu     sync.Mutex // is held by whoever asks the database
}

// knownGrants are those of one time.
type knownGrants struct {
	stamp   source.Stamp
	roles   map[string]*source.Grants
	checked atomic.Int64 // when it was begun to see that they are these: see monotonic
}

// has returns the rights of a role if they were checked so lately; nil: they were not.
func (k *knownGrants) has(role string, within time.Duration, now int64) *source.Grants {
	if k == nil || now-k.checked.Load() > int64(within) {
		return nil
	}
	return k.roles[role]
}

// Granting reports whether the database of r has roles with rights.
func (r *Resource) Granting() bool {
	_, ok := r.revision.Load().src.source.(source.Granter)
	return ok
}

// Grants returns what a role of the database of r may do there. It is as of 150 ms before the
// call at most. Errors: those of the database.
func (r *Resource) Grants(ctx context.Context, role string) (*source.Grants, error) {
	return r.revision.Load().src.granted(ctx, role)
}

// GrantsNow is Grants by what is known; nil: somebody has to wait for it. It waits for nobody,
// and takes no lock. of tells the rights of one time from those of another.
func (r *Resource) GrantsNow(role string) (g *source.Grants, of any) {
	return r.revision.Load().src.grantedNow(role)
}

// granted is Resource.Grants.
func (u *sourceState) granted(ctx context.Context, role string) (*source.Grants, error) {
	for {
		if g := u.grants.known.Load().has(role, grantsKept, monotonic()); g != nil {
			return g, nil
		}
		done := make(chan error, 1)
		go u.guarded("read the rights of roles", func() {
			err := error(&source.Error{Class: source.Internal, Message: "no rights were read"})
			defer func() { done <- err }()
			err = u.readGrants(role)
		})
		select {
		case err := <-done:
			if err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// grantedNow is Resource.GrantsNow.
func (u *sourceState) grantedNow(role string) (*source.Grants, any) {
	k, now := u.grants.known.Load(), monotonic()
	g := k.has(role, grantsKept, now)
	if k.has(role, grantsAsked, now) == nil && u.grants.asking.CompareAndSwap(false, true) {
		go u.guarded("read the rights of roles", func() {
			defer u.grants.asking.Store(false)
			_ = u.readGrants(role) // who needs them asks again, and is told
		})
	}
	return g, k
}

// readGrants reads the rights of a role, and of those that have asked before, unless somebody
// else has done so meanwhile.
func (u *sourceState) readGrants(role string) error {
	g := &u.grants
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.known.Load()
	begun := monotonic()
	if old.has(role, grantsAsked, begun) != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(u.ctx, u.opts.Timeout)
	defer cancel()
	stamp, err := g.of.Stamp(ctx)
	if err != nil {
		return err
	}
	roles := []string{role}
	if old != nil {
		if old.stamp == stamp && old.roles[role] != nil {
			old.checked.Store(begun)
			return nil
		}
		for name := range old.roles {
			if name != role {
				roles = append(roles, name)
			}
		}
	}
	k := &knownGrants{stamp: stamp}
	if k.roles, err = g.of.Grants(ctx, roles); err != nil {
		return err
	}
	k.checked.Store(begun)
	g.known.Store(k)
	return nil
}
