package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/ops"
)

// isList reports whether a path, without its query, names a resource and no document.
func isList(path string) bool {
	_, _, document, err := httpfront.ParseDocument(path)
	return err == nil && !document
}

// explainList prints what the running server has of a list. The list is not read: who
// reads it is counted, and has it kept.
func (c *getCmd) explainList(p *program) error {
	q := url.Values{"path": {"/" + strings.TrimPrefix(c.Document, "/")}}
	address := strings.TrimRight(c.Ops, "/") + "/-/inspect?" + q.Encode()
	req, err := http.NewRequestWithContext(p.ctx, http.MethodGet, address, nil)
	if err != nil {
		return usageError{err}
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	resp, err := askOperator(client, req, c.Token)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var in ops.Inspection
	if err := json.Unmarshal(text, &in); err != nil || in.List == nil {
		return errors.Join(fmt.Errorf("%s says nothing of lists: is it older?", c.Ops), err)
	}
	printList(p.stdout, &in)
	return nil
}

// explainWords prints which position a copy includes and, if it is kept with words, on which
// rows it depends, if the running server says so: the answer itself has been printed.
func (c *getCmd) explainWords(p *program, client *http.Client) {
	q := url.Values{"path": {"/" + strings.TrimPrefix(c.Document, "/")}}
	address := strings.TrimRight(c.Ops, "/") + "/-/inspect?" + q.Encode()
	req, err := http.NewRequestWithContext(p.ctx, http.MethodGet, address, nil)
	if err != nil {
		return
	}
	resp, err := askOperator(client, req, c.Token)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	var in ops.Inspection
	if json.NewDecoder(resp.Body).Decode(&in) != nil {
		return
	}
	if in.Position != "" {
		fmt.Fprintf(p.stderr, "includes  %s, as the database writes positions\n", in.Position)
	}
	if in.Depends == nil {
		return
	}
	for _, text := range in.Depends.Paths {
		fmt.Fprintf(p.stderr, "depends   by %s\n", text)
	}
	for _, text := range in.Depends.Coarse {
		fmt.Fprintf(p.stderr, "depends   on any row of %s\n", text)
	}
	for _, x := range in.Depends.Words {
		fmt.Fprintf(p.stderr, "word      %s: clock %d, %s\n", x.Name, x.Stamp, x.State)
	}
}

// printList prints what memory has of a list, a line for each thing.
func printList(w io.Writer, in *ops.Inspection) {
	l := in.List
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("list", "%s", in.Path)
	if l.Key != "" {
		line("key", "%s", l.Key)
	}
	line("memory", "%s: %s", l.State, l.Why)
	for _, d := range l.Documents {
		line("document", "%s: %s", d.Path, map[bool]string{true: "kept", false: "not kept"}[d.Kept])
	}
	if l.Documents != nil {
		return
	}
	if in.Kept {
		line("kept", "%d rows, %d bytes, tag %s, read at clock %d", l.Rows, in.Bytes, in.ETag,
			l.Clock)
		line("spelling", "%s", map[bool]string{true: "found by its bytes",
			false: "parsed first: not asked for in these bytes lately"}[l.Spelled])
	}
	if in.Position != "" {
		line("position", "%s, complete %v ago", in.Position,
			time.Duration(in.Lag).Round(time.Microsecond))
	}
	if l.Coarse != "" {
		line("depends", "on any row of its table: %s", l.Coarse)
	}
	for _, c := range l.Classes {
		line("depends", "on %s", c)
	}
	for _, x := range l.Words {
		text := x.State
		if x.Unsettled > 0 {
			text += fmt.Sprintf(" (%d changes not settled)", x.Unsettled)
		}
		line("word", "%s: clock %d, %s", x.Name, x.Stamp, text)
	}
	if l.Guard != "" {
		line("index", "%s", l.Guard)
	}
}
