package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hotrow/hotrow/internal/source"
)

// Doctor compares the database with what the feed needs for tables.
func (s *Source) Doctor(
	ctx context.Context, mode source.FeedMode, tables []source.Watched,
) ([]source.Finding, error) {
	if mode == source.FeedNone {
		return []source.Finding{{Level: source.LevelWarning, Text: "no feed is asked for",
			Why: "nothing is kept in memory: every read is a read of the database"}}, nil
	}
	if mode != source.FeedAuto && mode != source.FeedSQLite {
		return nil, fmt.Errorf("feed mode %q: SQLite has none but %q", mode, source.FeedSQLite)
	}
	var out []source.Finding
	err := s.readPool().use(ctx, func(c *conn) error {
		known, err := s.cachedTables(ctx, c)
		if err != nil {
			return err
		}
		log := &changeLog{}
		log.prepare(known, tables)
		have, err := objects(ctx, c)
		if err != nil {
			return err
		}
		out = append(out, log.finding(have))
		journal, err := journalFinding(ctx, c)
		if err == nil && journal != nil {
			out = append(out, *journal)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look at the database: %w", err)
	}
	if slices.ContainsFunc(tables, func(w source.Watched) bool { return w.Writes }) {
		if f := s.tryWrite(ctx); f != nil {
			out = append(out, *f)
		}
	}
	return out, nil
}

// errTried undoes a write that was only tried.
var errTried = errors.New("only tried")

// tryWrite finds out whether the file can be written, and a journal be made beside it:
// it writes what is there already and takes it back.
func (s *Source) tryWrite(ctx context.Context) *source.Finding {
	_, err := s.writerNow().transaction(ctx, func(c *conn) error {
		version, err := c.integer(ctx, "PRAGMA user_version")
		if err == nil {
			err = c.execOnce(ctx, fmt.Sprintf("PRAGMA user_version=%d", version))
		}
		return errors.Join(err, errTried)
	})
	switch codeOf(err) & 0xff {
	case codeReadOnly, codeCantOpen, codePerm, codeIOErr, codeFull:
	default: // it was written, or somebody else is writing: then it can be
		return nil
	}
	return &source.Finding{
		Level: source.LevelError, Text: fmt.Sprintf("the file cannot be written: %v", err),
		Why: fmt.Sprintf("user %d needs to write %s, and to make files in %s, where SQLite's"+
			" journal is", os.Getuid(), s.path, filepath.Dir(s.path)),
	}
}

// finding says whether the change log is there, with the statements that
// install and remove it.
func (l *changeLog) finding(have map[string]string) source.Finding {
	f := source.Finding{Remove: removeLog(have)}
	if l.reason != "" {
		f.Level, f.Text = source.LevelWarning, "the change log cannot be installed: "+l.reason
		f.Why = "a write by another program drops everything that is in memory"
		return f
	}
	if l.complete(have) {
		f.Level = source.LevelOK
		f.Text = "the change log is installed: writes by other programs are followed row by row"
		return f
	}
	apply := slices.Clone(createLog)
	for _, tr := range l.missing(have) {
		drop := "DROP TRIGGER IF EXISTS " + quote(tr.name)
		if have[tr.name] != "" {
			apply = append(apply, drop)
		}
		apply = append(apply, tr.create)
		f.Remove = append([]string{drop}, f.Remove...)
	}
	f.Level, f.Apply = source.LevelInfo, apply
	f.Text = "there is no change log for all served tables"
	f.Why = "a write by another program drops everything that is in memory, not only the rows " +
		"that it changes; hotrow's own writes do not need the log"
	f.Remove = slices.Compact(f.Remove)
	if !slices.Contains(f.Remove, dropLog) {
		f.Remove = append(f.Remove, dropLog)
	}
	return f
}

// dropLog drops the table of the log, and its own trigger with it.
const dropLog = "DROP TABLE IF EXISTS hotrow_changes"

// removeLog returns the statements that remove the log: first the triggers,
// without which the table is needed no more.
func removeLog(have map[string]string) []string {
	var out []string
	for name, sql := range have {
		if len(sql) > 14 && sql[:14] == "CREATE TRIGGER" && name != "hotrow_changes_trim" {
			out = append(out, "DROP TRIGGER IF EXISTS "+quote(name))
		}
	}
	slices.Sort(out)
	if have[logTable] != "" {
		out = append(out, dropLog)
	}
	return out
}

// journalFinding says so when readers and the writer stand in each other's way.
func journalFinding(ctx context.Context, c *conn) (*source.Finding, error) {
	var mode string
	err := c.query(ctx, "PRAGMA journal_mode", nil, func(v []any) error {
		mode, _ = v[0].(string)
		return nil
	})
	if err != nil || mode == "wal" {
		return nil, err
	}
	return &source.Finding{
		Level: source.LevelInfo,
		Text:  fmt.Sprintf("the database is in journal mode %s, not in WAL mode", mode),
		Why:   "readers wait while a program commits, and a commit waits for readers",
		Apply: []string{"PRAGMA journal_mode=WAL"}, Remove: []string{"PRAGMA journal_mode=" + mode},
	}, nil
}
