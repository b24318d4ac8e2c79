package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/term"
)

// isTerminal reports whether w is a terminal that somebody reads.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A terminalLog is where lines of the log go that somebody reads on a terminal: short, dimmed,
// and none before the greeting, unless something is wrong.
type terminalLog struct {
	mu   sync.Mutex // guards what follows
	w    io.Writer
	held []byte       // lines that wait for the greeting
	hold bool         // they do
	rest bytes.Buffer // the attributes of the line that is made
	dim  bool
}

// heldFor is how long a slow start holds its lines: whoever waits wants to know for what.
const heldFor = 2 * time.Second

// newTerminalLog returns a log that holds its lines until release.
func newTerminalLog(w io.Writer, dim bool) *terminalLog {
	t := &terminalLog{w: w, hold: true, dim: dim}
	time.AfterFunc(heldFor, t.release)
	return t
}

// release writes what was held: the greeting stands above it. nil: there is no terminal.
func (t *terminalLog) release() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
}

func (t *terminalLog) flush() {
	t.hold = false
	_, _ = t.w.Write(t.held) // nobody can be told
	t.held = nil
}

// handler returns the handler whose records t writes.
func (t *terminalLog) handler(level slog.Leveler) slog.Handler {
	return terminalHandler{t, slog.NewTextHandler(&t.rest, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey ||
				a.Key == slog.MessageKey) {
				return slog.Attr{} // Handle writes these itself
			}
			return errorText(a)
		},
	})}
}

// A terminalHandler makes lines for a terminalLog.
type terminalHandler struct {
	to   *terminalLog
	rest slog.Handler // writes the attributes alone
}

func (h terminalHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.rest.Enabled(ctx, level)
}

func (h terminalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return terminalHandler{h.to, h.rest.WithAttrs(attrs)}
}

func (h terminalHandler) WithGroup(name string) slog.Handler {
	return terminalHandler{h.to, h.rest.WithGroup(name)}
}

// Handle writes a record as one line: 15:04:05 message key=value.
func (h terminalHandler) Handle(ctx context.Context, r slog.Record) error {
	t := h.to
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rest.Reset()
	if err := h.rest.Handle(ctx, r); err != nil {
		return err
	}
	wrong := r.Level >= slog.LevelWarn
	line := make([]byte, 0, 200)
	if t.dim && !wrong {
		line = append(line, "\x1b[2m"...)
	}
	line = r.Time.AppendFormat(line, "15:04:05 ")
	if r.Level != slog.LevelInfo {
		line = append(append(line, r.Level.String()...), ' ')
	}
	if message := r.Message; strings.ContainsFunc(message, unicode.IsControl) {
		line = strconv.AppendQuote(line, message) // the terminal is not for what it quotes
	} else {
		line = append(line, message...)
	}
	line = append(line, ' ')
	line = append(line, bytes.TrimSpace(t.rest.Bytes())...)
	line = bytes.TrimRight(line, " ")
	if t.dim && !wrong {
		line = append(line, "\x1b[0m"...)
	}
	line = append(line, '\n')
	if t.hold && !wrong {
		t.held = append(t.held, line...)
		return nil
	}
	if t.hold {
		t.flush()
	}
	_, err := t.w.Write(line)
	return err
}
