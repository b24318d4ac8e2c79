package sqlite

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// A feed can go on after a restart where the change log says what was written
// meanwhile, by whomever: its rows are numbered without a hole, and each has a
// nonce. Without the log there is no way to know: the counters in the file's
// header do not tell which rows have changed, and in WAL mode not even that.

// checkpointOrigin is the Origin of checkpoints in a change log.
const checkpointOrigin = "sqlite change log"

// checkpointEvery is how often rows of our own in the log are passed over, so that a
// restart need not read them again.
const checkpointEvery = time.Second

// A passed is a checkpoint of the log, and the position up to which the handler has
// been told when it was passed.
type passed struct {
	pos        source.Position
	checkpoint source.Checkpoint
}

// UseCheckpoints implements source.Resumer.
func (f *Feed) UseCheckpoints(k source.CheckpointStore) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.store = k
}

// Checkpoint implements source.Resumer.
func (f *Feed) Checkpoint(pos source.Position) (source.Checkpoint, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at.checkpoint.Origin == "" || f.at.pos > pos {
		return source.Checkpoint{}, false
	}
	return f.at.checkpoint, true
}

// pass notes that everything in the log up to its last row that was read has been
// delivered, and reports whether that is news. The Run goroutine calls it when
// nothing is queued.
func (f *Feed) pass(pos source.Position) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read.Origin == "" || f.read == f.at.checkpoint {
		return false
	}
	f.at = passed{pos, f.read}
	return true
}

// note remembers the last row of the log that was read. The writer's turn is
// held.
func (f *Feed) note(ctx context.Context, w *writer) error {
	p := source.Checkpoint{}
	if f.log.ready {
		nonce, err := nonceOf(ctx, w.c, f.log.last)
		if err != nil {
			return err
		}
		if nonce != "" {
			p = source.Checkpoint{Origin: checkpointOrigin, Pos: source.Position(f.log.last),
				Note: fmt.Sprintf("%d %s", w.known.version, nonce)}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = p
	return nil
}

// nonceOf returns the nonce of a row of the log; "" when the row is not there, or
// when the log is one of before there were nonces.
func nonceOf(ctx context.Context, c *conn, seq int64) (nonce string, err error) {
	columns := 0
	err = c.query(ctx, "SELECT count(*) FROM pragma_table_info('hotrow_changes') "+
		"WHERE name = 'nonce'", nil, func(v []any) error {
		n, _ := v[0].(int64)
		columns = int(n)
		return nil
	})
	if err != nil || columns == 0 {
		return "", err
	}
	err = c.query(ctx, "SELECT nonce FROM hotrow_changes WHERE seq = ?", []any{seq},
		func(v []any) error {
			b, _ := v[0].([]byte)
			nonce = hex.EncodeToString(b)
			return nil
		})
	return nonce, err
}

// resume makes the log be read from where a process before this one has stopped,
// if nothing has been done to it or to the tables but write rows. It is part of
// baseline, and leaves what that has found as it is when there is a doubt.
func (f *Feed) resume(ctx context.Context, w *writer) (bool, error) {
	f.mu.Lock()
	k := f.store
	f.mu.Unlock()
	if k == nil || !f.log.ready || f.resumed {
		return false, nil
	}
	p, _ := k.Complete()
	schema, nonce, _ := strings.Cut(p.Note, " ")
	seq := int64(p.Pos)
	now := strconv.FormatInt(w.known.version, 10)
	if p.Origin != checkpointOrigin || nonce == "" || schema != now ||
		seq > f.log.last || f.log.last-seq > logKeeps {
		return false, nil
	}
	found, err := nonceOf(ctx, w.c, seq)
	if err != nil || found != nonce {
		return false, err
	}
	f.log.last = seq
	f.version = 0 // so that the first look reads the log
	return true, nil
}
