package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/links/transfer"
	"github.com/hotrow/hotrow/internal/source"
)

// moveShortcut takes over what the program shortcut has, from a dump or from its
// database itself.
func (c *linksImportCmd) moveShortcut(p *program) error {
	from, done, err := c.shortcutSource(p)
	if err != nil {
		return err
	}
	defer done()
	m := &transfer.Move{From: from, Now: time.Now(), Dry: c.DryRun, Send: c.sendTo}
	r, err := m.Run(p.ctx)
	if printErr := c.reportMove(p, r); err == nil {
		err = printErr
	}
	if err != nil {
		return fmt.Errorf("import %s: %w", c.File, err)
	}
	if n := len(r.Refused) + r.More; n > 0 {
		return fmt.Errorf("%s not taken over", countOf(n, "row"))
	}
	return nil
}

// shortcutSource opens the dump, or the database, that File names.
func (c *linksImportCmd) shortcutSource(p *program) (transfer.ShortcutSource, func(), error) {
	if !strings.Contains(c.File, "://") {
		if c.File == "-" {
			return nil, nil, usageError{errors.New("a dump of shortcut is read three times: give " +
				"its file")}
		}
		return transfer.ShortcutDump(func() (io.ReadCloser, error) { return os.Open(c.File) }),
			func() {}, nil
	}
	s := config.DefaultSource()
	s.URL = config.Secret(c.File)
	log := textLogger(p.stderr, slog.LevelError)
	src, err := openSource(p.ctx, s, false, false, log)
	if err != nil {
		return nil, nil, err
	}
	closing := func() { _ = src.Close() } // it was only read
	store, ok := src.(source.Store)
	if !ok {
		closing()
		return nil, nil, usageError{errors.New("shortcut's database is MySQL or MariaDB")}
	}
	return queries(p.ctx, store), closing, nil
}

// queries returns the source that a database of shortcut's is.
func queries(ctx context.Context, db source.Store) transfer.ShortcutSource {
	return func(table string, columns []string, each func([]string) error) error {
		as := make([]string, len(columns))
		for i, c := range columns {
			as[i] = "CAST(" + c + " AS CHAR)"
		}
		values := make([]string, len(columns))
		sql := "SELECT " + strings.Join(as, ", ") + " FROM " + table
		if columns[0] == "ID" {
			sql += " ORDER BY ID"
		}
		err := db.Query(ctx, sql, nil, func(r source.StoreRow) error {
			values = make([]string, len(columns))
			for i := range values {
				values[i] = strings.TrimRight(r.Text(i), "\x00") // of BINARY
			}
			return each(values)
		})
		if err != nil {
			return fmt.Errorf("read %s: %w", table, err)
		}
		return nil
	}
}

// sendTo gives lines to a path of the API.
func (c *linksImportCmd) sendTo(
	ctx context.Context, path string, lines []byte,
) ([]transfer.Moved, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	req, err := c.request(ctx, http.MethodPost, path, bytes.NewReader(lines))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := c.do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var answers []transfer.Moved
	for dec := json.NewDecoder(resp.Body); ; {
		var a transfer.Moved
		if err := dec.Decode(&a); err == io.EOF {
			return answers, nil
		} else if err != nil {
			return answers, fmt.Errorf("read the server's answer: %w", err)
		}
		answers = append(answers, a)
	}
}

// reportMove says what has come over.
func (c *linksImportCmd) reportMove(p *program, r *transfer.MoveReport) error {
	if c.JSON {
		return json.NewEncoder(p.stdout).Encode(map[string]any{"users": r.Users, "links": r.Links,
			"expired": r.Off, "hits": r.Hits, "refused": r.Refused, "refused_not_listed": r.More})
	}
	out := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	if len(r.Refused) > 0 {
		fmt.Fprintln(out, "ROW\tUSER, CODE OR ADDRESS\tNOT TAKEN OVER, BECAUSE")
	}
	for _, one := range r.Refused {
		fmt.Fprintf(out, "%d\t%s\t%s\n", one.Line, one.Code, one.Reason)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	would := ""
	if c.DryRun {
		would = "would be "
	}
	fmt.Fprintf(p.stderr, "%s, %s and %s %staken over\n", countOf(r.Users, "user"),
		countOf(r.Links, "link"), countOf(r.Hits, "hit"), would)
	if r.Off > 0 {
		fmt.Fprintf(p.stderr, "%s had expired, which shortcut never looked at: kept, and off "+
			"(hotrow links edit CODE --on --expire never)\n", countOf(r.Off, "link"))
	}
	return nil
}
