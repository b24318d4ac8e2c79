package main

import (
	"os/signal"
	"syscall"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/front"
)

// accessSettings returns what cfg says of the access log.
func accessSettings(cfg *config.Config) accesslog.Settings {
	return accesslog.Settings{
		Mode: accessMode(cfg.Log.Access), Format: accesslog.Format(cfg.Log.AccessFormat),
		Every: int(cfg.Log.Access), File: cfg.AccessFile(),
	}
}

// accessMode returns which requests have a line.
func accessMode(a config.AccessLog) accesslog.Mode {
	switch a {
	case 0:
		return accesslog.Off
	case 1:
		return accesslog.All
	}
	return accesslog.Sampled
}

// openAccessLog opens the access log, which may be off.
func (s *server) openAccessLog() error {
	// Who reads our standard output may go. That is an error of a write, and no
	// reason for a server to die.
	signal.Ignore(syscall.SIGPIPE)
	s.accessNow = accessSettings(s.cfg())
	var err error
	s.access, err = accesslog.Open(accesslog.Config{
		Columns: front.AccessColumns(), Stdout: s.p.stdout, Log: s.log,
	}, s.accessNow)
	return err
}

// logsToStdout reports whether standard output is the access log's.
func (s *server) logsToStdout() bool {
	to := accessSettings(s.cfg())
	return to.Mode != accesslog.Off && to.File == ""
}

// reopenAccessLog lets go of a file that was renamed. It does so at every
// SIGHUP, whatever else there is to reload, and even if that fails: the one who
// renames the file relies on it.
func (s *server) reopenAccessLog() {
	if s.accessNow.Mode == accesslog.Off || s.accessNow.File == "" {
		return
	}
	if err := s.access.Configure(s.accessNow); err != nil {
		s.log.Error("access log not opened again", "err", err)
		return
	}
	s.log.Info("access log opened again", "file", s.accessNow.File)
}

// changeAccessLog makes the access log what cfg says.
func (s *server) changeAccessLog(cfg *config.Config) {
	to := accessSettings(cfg)
	if to == s.accessNow {
		return
	}
	if err := s.access.Configure(to); err != nil {
		s.log.Error("access log not changed, the old settings stay", "err", err)
		return
	}
	s.accessNow = to
}
