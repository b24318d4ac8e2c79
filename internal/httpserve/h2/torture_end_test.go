package h2_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// read compares all that comes with what is expected, until the connection ends. It returns
// what is wrong, or the error that has ended the connection.
func (l *link) read(rnd *rand.Rand) error {
	fr := http2.NewFramer(nil, l.conn)
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return &ended{err}
		}
		_ = l.raw.SetDeadline(time.Now().Add(timeLimit)) // of silence
		l.mu.Lock()
		err = l.take(f, rnd)
		l.mu.Unlock()
		if err != nil {
			return err
		}
		l.poke()
	}
}

// An ended is how a connection has ended, which may be right.
type ended struct{ error }

// take takes one frame.
func (l *link) take(f http2.Frame, rnd *rand.Rand) error {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() && !l.over {
			_ = l.fr.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() || len(l.pings) == 0 || f.Data != l.pings[0] {
			return fmt.Errorf("a pong is %q, want the first of %q", f.Data, l.pings)
		}
		l.pings = l.pings[1:]
	case *http2.GoAwayFrame:
		l.goAway = f.ErrCode
	case *http2.MetaHeadersFrame:
		return l.takeHead(f, rnd)
	case *http2.DataFrame:
		return l.takeData(f, rnd)
	case *http2.RSTStreamFrame:
		s := l.streams[f.StreamID]
		switch {
		case s != nil && s.reset:
		case s != nil && s.done && s.trail && f.ErrCode == http2.ErrCodeNo: // it needs no end of the body
			s.left = false
		default:
			return fmt.Errorf("stream %d is reset: %v", f.StreamID, f.ErrCode)
		}
	case *http2.WindowUpdateFrame:
	default:
		return fmt.Errorf("a frame of another type: %v", f)
	}
	return nil
}

func (l *link) takeHead(f *http2.MetaHeadersFrame, rnd *rand.Rand) error {
	s := l.streams[f.StreamID]
	if s == nil || s.done || s.head {
		return fmt.Errorf("stream %d has no request to be answered, or was answered: %v", f.StreamID, f.Fields)
	}
	s.head = true
	mark, length := "", ""
	for _, h := range f.RegularFields() {
		switch h.Name {
		case "x-mark":
			mark += h.Value
		case "content-length":
			length = h.Value
		}
	}
	if status := f.PseudoValue("status"); status != s.status || mark != s.mark {
		return fmt.Errorf("the answer of stream %d is %s %.60q, want %s %.60q", s.id, status, mark, s.status, s.mark)
	}
	if length != "" && s.body != "" && length != strconv.Itoa(len(s.body)) {
		return fmt.Errorf("stream %d has a body of %s bytes, want %d", s.id, length, len(s.body))
	}
	if !f.StreamEnded() && s.window < 100 && !s.reset && !l.over {
		l.grant(s.id, 1+rnd.Int64N(2_000))
	}
	return l.ends(s, f.StreamEnded())
}

func (l *link) takeData(f *http2.DataFrame, rnd *rand.Rand) error {
	s, b, n := l.streams[f.StreamID], string(f.Data()), int64(f.Length)
	if s == nil || s.done || !s.head {
		return fmt.Errorf("stream %d has no body to come: %.60q", f.StreamID, b)
	}
	if s.at+len(b) > len(s.body) || s.body[s.at:s.at+len(b)] != b {
		return fmt.Errorf("stream %d has, at %d of %d, %.60q, want %.60q", s.id, s.at, len(s.body), b, s.body[s.at:])
	}
	s.at += len(b)
	l.window -= n
	if s.window -= n; s.window < 0 || l.window < 0 {
		return fmt.Errorf("stream %d: windows are %d and %d", s.id, s.window, l.window)
	}
	if n > 0 && !l.over {
		l.grant(0, n)
		if !f.StreamEnded() && !s.reset {
			l.grant(s.id, 1+rnd.Int64N(4_000))
		}
	}
	return l.ends(s, f.StreamEnded())
}

// ends takes note of the end of an answer, if it is that.
func (l *link) ends(s *asked, end bool) error {
	if !end {
		return nil
	}
	if s.at != len(s.body) {
		return fmt.Errorf("stream %d has ended at %d of %d bytes", s.id, s.at, len(s.body))
	}
	s.done = true
	if !s.reset {
		l.x.answers.Add(1)
		<-l.seats
	}
	return nil
}

// finish ends the connection, and says what is wrong with its end.
func (l *link) finish(end int, read <-chan error, sent <-chan struct{}) error {
	switch end {
	case endQuietly:
		return l.finishQuietly(read, sent)
	case endBad:
		l.put(l.wrong)
	case endCut:
		l.put(func() { _, _ = l.out.Write([]byte{0, 0, 50, 1, 5, 0, 0}[:1+l.rnd.IntN(7)]) })
	case endReset:
		_ = l.raw.(*net.TCPConn).SetLinger(0)
		_ = l.raw.Close()
	}
	l.stop()
	<-sent
	switch end {
	case endHalf:
		if c, ok := l.conn.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite()
		} else {
			_ = l.raw.(*net.TCPConn).CloseWrite()
		}
	case endCut:
		_ = l.raw.Close()
	}
	err := <-read
	for _, s := range l.streams {
		if !s.done && !s.reset {
			l.x.unanswered.Add(1)
		}
	}
	var e *ended
	switch {
	case !errors.As(err, &e):
		return err
	case isTimeout(e.error):
		return fmt.Errorf("no end: %w", e.error)
	case end == endBad && (l.goAway == noCode || l.goAway == http2.ErrCodeNo):
		return fmt.Errorf("a wrong frame is not told of: %v, %w", l.goAway, e.error)
	}
	return nil
}

// stop has send return when all is sent.
func (l *link) stop() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.poke()
}

// leave returns why the server has said that it ends the connection.
func (l *link) leave() http2.ErrCode {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.goAway
}

// finishQuietly waits for all answers.
func (l *link) finishQuietly(read <-chan error, sent <-chan struct{}) error {
	for range linkStreams { // nobody waits when all can be had
		select {
		case l.seats <- struct{}{}:
		case err := <-read:
			l.stop()
			return fmt.Errorf("streams wait%s, GOAWAY %v: %w", l.waiting(), l.leave(), err)
		}
	}
	l.put(func() { _ = l.fr.WriteGoAway(0, http2.ErrCodeNo, nil) })
	l.stop()
	<-sent
	_ = l.raw.Close()
	err := <-read
	var e *ended
	switch {
	case !errors.As(err, &e):
		return err
	case l.goAway != noCode:
		return fmt.Errorf("the server has ended the connection: %v", l.goAway)
	}
	return nil
}

// waiting says how far the streams are that were not answered.
func (l *link) waiting() (text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, s := range l.streams {
		if !s.done && !s.reset {
			text += fmt.Sprintf(", %d (%.30s: head %t, %d of %d bytes, windows %d and %d, request left %t)",
				id, s.mark, s.head, s.at, len(s.body), s.window, l.window, s.left)
		}
	}
	return text
}

// wrong puts a frame that ends a connection, and requests that are not to be answered.
func (l *link) wrong() {
	switch l.rnd.IntN(4) {
	case 0:
		_ = l.fr.WriteRawFrame(http2.FrameData, 0, 0, []byte("of no stream"))
	case 1:
		_ = l.fr.WriteRawFrame(http2.FramePing, 0, 0, []byte("short"))
	case 2:
		_ = l.fr.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, l.next+1, []byte{0x82})
	case 3: // a header block that nobody can decode
		_ = l.fr.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, l.next,
			[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	}
	for range l.rnd.IntN(20) {
		l.begin()
		s := l.streams[l.next-2]
		delete(l.streams, s.id) // whatever comes for it is wrong
		l.x.streams.Add(-1)
	}
}
