package main

import (
	"io"
	"log/slog"

	"github.com/hotrow/hotrow/internal/config"
)

// newLogger returns the logger that a configuration asks for.
func newLogger(w io.Writer, c config.Log) *slog.Logger {
	level.Set(levels[c.Level])
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: &level}))
	}
	return textLogger(w, &level)
}

// textLogger returns a logger of lines of text.
func textLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		Level:       level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { return errorText(a) },
	}))
}

// errorText has an error be what its Error says: a handler by itself asks for more, and some
// have the stack then.
func errorText(a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		a.Value = slog.StringValue(err.Error())
	}
	return a
}

// level is what the process logs; a reload may change it.
var level slog.LevelVar

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo,
	"warn": slog.LevelWarn, "error": slog.LevelError,
}
