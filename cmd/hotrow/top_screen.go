package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/hotrow/hotrow/internal/ops"
)

const (
	topHistory = 40 // frames
	topEvents  = 100

	// topResize is how long the screen may have a size that the terminal has no more. A
	// signal says so at once, but not on every system.
	topResize = 100 * time.Millisecond
)

// Sequences of ECMA-48 and xterm, which every terminal of today knows.
const (
	screenOpen  = "\x1b[?1049h\x1b[?25l\x1b[?7l" // another screen, no cursor, no wrapping of lines
	screenClose = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	screenHome  = "\x1b[H"
	lineEnd     = "\x1b[K\r\n" // clears what was right of it
	screenEnd   = "\x1b[J"     // clears what was below
)

// A topScreen is what fills the terminal.
type topScreen struct {
	frame  ops.Frame
	events []ops.Event
	sql    *ops.Statements // is shown in place of the frame
	view   topView
}

// What the server and the keyboard send to the screen.
type (
	topFrame ops.Frame
	topLog   []ops.Event
	topSQL   ops.Statements
	topKeys  string
	topEnd   struct{ err error }
)

// show fills the screen with what read sends until q is pressed. Without a keyboard, ctx ends it.
func (c *topCmd) show(
	ctx context.Context, p *program, read func(ctx context.Context, send func(any)),
) error {
	out := p.given.(*os.File)
	restore, err := openScreen(os.Stdin, out)
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	defer restore()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	messages := make(chan any)
	send := func(m any) {
		select {
		case messages <- m:
		case <-ctx.Done():
		}
	}
	go read(ctx, send)
	go readKeys(os.Stdin, send)

	s := &topScreen{view: topView{sort: c.Sort, colour: hasColour(p)}}
	resize := time.NewTicker(topResize)
	defer resize.Stop()
	for s.fit(out); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-resize.C:
			if !s.fit(out) {
				continue
			}
		case m := <-messages:
			if end, ok := m.(topEnd); ok {
				return end.err
			}
			if !s.take(m) {
				return nil
			}
		}
		if _, err := io.WriteString(out, s.text()); err != nil {
			return fmt.Errorf("the terminal: %w", err)
		}
	}
}

// openScreen prepares the terminal: keys come at once and unseen, and what was on the screen
// is back after restore. A keyboard that is none is left alone.
func openScreen(in, out *os.File) (restore func(), err error) {
	if err := allowSequences(out); err != nil {
		return nil, err
	}
	was, rawErr := term.MakeRaw(int(in.Fd()))
	restore = func() {
		_, _ = io.WriteString(out, screenClose) // there is nobody to tell
		if rawErr == nil {
			_ = term.Restore(int(in.Fd()), was)
		}
	}
	if _, err := io.WriteString(out, screenOpen); err != nil {
		restore()
		return nil, err
	}
	return restore, nil
}

// hasColour reports whether the terminal may be sent colours (no-color.org).
func hasColour(p *program) bool {
	for _, e := range p.env {
		name, value, _ := strings.Cut(e, "=")
		if name == "NO_COLOR" && value != "" || name == "TERM" && value == "dumb" {
			return false
		}
	}
	return true
}

// readFrames sends what comes over the stream, and at last its end.
func readFrames(body io.Reader, send func(any)) {
	err := readLive(body, func(event string, data []byte) error {
		switch event {
		case "frame":
			var f ops.Frame
			if err := json.Unmarshal(data, &f); err != nil {
				return fmt.Errorf("a frame of /-/live: %w", err)
			}
			send(topFrame(f))
		case "events":
			var list []ops.Event
			if err := json.Unmarshal(data, &list); err != nil {
				return fmt.Errorf("the events of /-/live: %w", err)
			}
			send(topLog(list))
		}
		return nil
	})
	send(topEnd{err})
}

// readKeys sends what is typed. A key such as an arrow comes as several bytes at once. It ends
// with the program.
func readKeys(in io.Reader, send func(any)) {
	var b [64]byte
	for {
		n, err := in.Read(b[:])
		if err != nil {
			return
		}
		send(topKeys(b[:n]))
	}
}

// fit takes the size of the terminal, and reports whether it is another one.
func (s *topScreen) fit(out *os.File) bool {
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil || width < 1 || height < 1 {
		width, height = 80, 24
	}
	changed := width != s.view.width || height != s.view.height
	s.view.width, s.view.height = width, height
	return changed
}

// take takes what has come, and reports false for the key that ends the program.
func (s *topScreen) take(m any) bool {
	switch m := m.(type) {
	case topFrame:
		s.frame = ops.Frame(m)
		s.events = append(s.events, s.frame.Events...)
		s.events = s.events[max(0, len(s.events)-topEvents):]
		if a := s.frame.Answers; s.frame.Interval > 0 {
			s.view.history = append(s.view.history, a.All())
			s.view.history = s.view.history[max(0, len(s.view.history)-topHistory):]
		}
	case topLog:
		s.events = m
	case topSQL:
		s.sql = (*ops.Statements)(&m)
	case topKeys:
		return s.press(string(m))
	}
	return true
}

// press does what keys say, and reports false for the end.
func (s *topScreen) press(keys string) bool {
	if len(keys) > 1 && keys[0] == '\x1b' {
		return true // an arrow, a function key, a click
	}
	for _, key := range keys {
		switch key {
		case 'q', '\x03', '\x1b': // Ctrl-C, Escape
			return false
		case 'r':
			s.view.sort = "rate"
		case 'n':
			s.view.sort = "name"
		case 'h':
			s.view.sort = "hits"
		case 'c':
			s.view.sort = "changes"
		}
	}
	return true
}

// text draws the screen, with the keys on its last line.
func (s *topScreen) text() string {
	v := s.view
	v.height--
	if s.sql != nil {
		return screenHome + strings.ReplaceAll(renderSQL(s.sql, v), "\n", lineEnd) + "q quit" +
			"\x1b[K" + screenEnd
	}
	text := strings.ReplaceAll(renderTop(&s.frame, s.events, v), "\n", lineEnd)
	return screenHome + text + "q quit   sorted by " + v.sort +
		": r rate, n name, h hits, c changes" + "\x1b[K" + screenEnd
}
