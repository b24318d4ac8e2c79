package tier

import (
	"context"
	"time"
)

// waitingBytes returns how many bytes of documents wait. d.mu is held.
func (d *Disk) waitingBytes() uint64 {
	n := d.open.bytes
	if d.closing != nil {
		n += d.closing.bytes
	}
	return n
}

// Room returns how many bytes of documents can be put without being refused, and waits until
// they are at least so many and half of what may wait at all. It is for those whose loads can
// wait for the disk. 0: nothing that large is put, however long one waits, for the disk is full or
// off. The error is that of ctx.
func (d *Disk) Room(ctx context.Context, least uint64) (uint64, error) {
	for {
		room, moved := d.room(max(least, d.pendingLimit()/2))
		if moved == nil {
			return room, nil
		}
		d.commitSoon()
		select {
		case <-moved:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// room returns the room there is if it is enough, or else what is to be waited for.
func (d *Disk) room(least uint64) (room uint64, moved <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state != diskRunning || time.Now().Before(d.putsFrom) || least > d.pendingLimit() {
		return 0, nil
	}
	if room = d.pendingLimit() - min(d.waitingBytes(), d.pendingLimit()); room < least {
		return 0, d.moved
	}
	return room, nil
}

// goOn has those who wait for room look again. d.mu is held.
func (d *Disk) goOn() {
	close(d.moved)
	d.moved = make(chan struct{})
}
