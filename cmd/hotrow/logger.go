package main

import (
	"io"
	"log/slog"

	"github.com/hotrow/hotrow/internal/config"
)

// newLogger returns the logger that a configuration asks for.
func newLogger(w io.Writer, c config.Log) *slog.Logger {
	level.Set(levels[c.Level])
	o := &slog.HandlerOptions{Level: &level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// level is what the process logs; a reload may change it.
var level slog.LevelVar

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo,
	"warn": slog.LevelWarn, "error": slog.LevelError,
}
