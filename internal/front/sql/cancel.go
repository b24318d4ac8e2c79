package sqlfront

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// keys has the sessions that clients may ask to cancel, by what they were told.
type keys struct {
	mu      sync.Mutex // guards what follows; innermost
	targets map[string]target
}

// A target is where a request to cancel goes.
type target struct {
	key   []byte // of the server
	again func(ctx context.Context) (net.Conn, error)
}

// ownKey returns a key like the server's, with another secret.
func ownKey(key []byte) []byte {
	own := make([]byte, len(key))
	_, _ = rand.Read(own) // it does not fail
	copy(own, key[:min(4, len(key))])
	return own
}

// add makes a session one that can be cancelled by a key.
func (k *keys) add(key []byte, t target) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.targets == nil {
		k.targets = make(map[string]target)
	}
	k.targets[string(key)] = t
}

func (k *keys) remove(key []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.targets, string(key))
}

func (k *keys) find(key string) (target, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.targets[key]
	return t, ok
}

// cancel passes a request to cancel on, and waits until the server has taken it: only then may
// the client's connection end.
func (s *Site) cancel(ctx context.Context, key string) {
	t, ok := s.keys.find(key)
	if !ok {
		s.f.count.cancels[cancelUnknown].Add(1)
		return
	}
	select {
	case s.cancels <- struct{}{}:
		defer func() { <-s.cancels }()
	case <-ctx.Done():
		s.f.count.cancels[cancelFailed].Add(1)
		return
	}
	nc, err := t.again(ctx)
	if err != nil {
		s.f.count.cancels[cancelFailed].Add(1)
		return
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(front.SQLLogin))
	if _, err = nc.Write(cancelPacket(t.key)); err == nil {
		_, err = io.Copy(io.Discard, nc)
	}
	if err != nil && !isReset(err) {
		s.f.count.cancels[cancelFailed].Add(1)
		return
	}
	s.f.count.cancels[cancelPassed].Add(1)
}
