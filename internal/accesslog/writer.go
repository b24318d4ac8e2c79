package accesslog

import (
	"bytes"
	"fmt"
	"time"
)

// writeAtOnce is about how many bytes of lines one write has at most.
const writeAtOnce = 64 << 10

// A writer turns records into lines and writes them. It is one goroutine, the
// only one that waits for the sink.
type writer struct {
	l       *Log
	sink    *sink // nil: nothing is logged
	encode  *encoder
	readers []*reader
	out     []byte
	failing bool // the last write was not taken
	torn    bool // it has left the beginning of a line
}

// run works until the Log is closed.
func (w *writer) run() {
	defer close(w.l.done)
	tick := time.NewTicker(Pause)
	defer tick.Stop()
	for {
		due := tick.C
		if w.sink == nil {
			due = nil // there is nothing to wake up for
			tick.Stop()
		}
		select {
		case <-due:
			w.drain()
		case c := <-w.l.changes:
			w.change(c)
			tick.Reset(Pause)
		case <-w.l.quit:
			w.drain()
			w.close()
			return
		}
	}
}

// change writes what is left to the old sink, and takes the new one.
func (w *writer) change(c change) {
	if c.sink == nil && w.sink != nil {
		time.Sleep(Pause) // for wake-ups that have begun to end
	}
	w.drain()
	w.close()
	w.sink, w.failing, w.torn = c.sink, false, false
	if c.sink != nil {
		w.encode = newEncoder(w.l.cfg.Columns, c.format)
	}
	close(c.done)
}

// close lets the sink go.
func (w *writer) close() {
	if err := w.sink.close(); err != nil {
		w.l.log.Error("access log not closed", "file", w.sink.name, "err", err)
	}
	w.sink = nil
}

// drain writes everything that is in the rings now.
func (w *writer) drain() {
	if w.sink == nil {
		return
	}
	for i, r := range w.l.all() {
		if i == len(w.readers) {
			w.readers = append(w.readers, &reader{r: r})
		}
	}
	lines := 0
	for _, d := range w.readers {
		// What comes meanwhile waits for the next time: there must be an end.
		head := d.r.head.Load()
		for more := true; more; {
			var n int
			w.out, n, more = d.read(w.encode, w.out, head, writeAtOnce)
			if lines += n; more {
				w.write(lines)
				lines = 0
			}
		}
	}
	w.write(lines)
}

// write writes the lines that are in w.out.
func (w *writer) write(lines int) {
	if lines == 0 {
		return
	}
	out := w.out
	w.out = w.out[:0]
	if w.torn { // so that one line at most is broken
		if _, err := w.sink.w.Write([]byte{'\n'}); err != nil {
			w.failed(err, lines)
			return
		}
		w.torn = false
	}
	n, err := w.sink.w.Write(out)
	if err == nil && n < len(out) {
		err = fmt.Errorf("%d of %d bytes taken", n, len(out))
	}
	if err == nil {
		w.l.lines.Add(uint64(lines))
		if w.failing {
			w.failing = false
			w.l.log.Info("access log written again", "file", w.sink.name,
				"dropped", w.l.Stats().Dropped)
		}
		return
	}
	n = min(max(n, 0), len(out))
	left := bytes.Count(out[n:], []byte{'\n'})
	w.torn = n > 0 && out[n-1] != '\n'
	w.l.lines.Add(uint64(lines - left))
	w.failed(err, left)
}

// failed counts lines that were not taken, and tells the first time.
func (w *writer) failed(err error, lines int) {
	w.l.lost.Add(uint64(lines))
	if !w.failing {
		w.failing = true
		w.l.log.Error("access log not written, lines are dropped until it is", "file", w.sink.name,
			"err", err)
	}
}
