package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
)

// The codes of texts that cannot be carried between UTF-8 and the database's encoding.
const (
	codeBadBytes     = "22021" // bytes that are none in their encoding
	codeUntranslated = "22P05" // a character that the other encoding lacks
)

// byteSequence finds the bytes that such an error is about, in whatever language it is.
var byteSequence = regexp.MustCompile(`0x[0-9a-f]{2}(?: 0x[0-9a-f]{2})*`)

// An unheldText is a character of a value that the database's encoding lacks.
type unheldText struct {
	text string
	err  *pgconn.PgError
}

// Error returns what the server said.
func (e *unheldText) Error() string { return e.err.Error() }

// Unwrap returns the server's error.
func (e *unheldText) Unwrap() error { return e.err }

// unheld returns a better error of a text that cannot be carried: args are what the
// statement was given. A text that is not among them is in a row: its reader has made no
// mistake.
func (c engineConn) unheld(err error, args []any) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != codeBadBytes && pg.Code != codeUntranslated {
		return err
	}
	digits := strings.NewReplacer("0x", "", " ", "").Replace(byteSequence.FindString(pg.Message))
	text, failed := hex.DecodeString(digits)
	if failed != nil || len(text) == 0 {
		return err
	}
	encoding := c.conn.PgConn().ParameterStatus("server_encoding")
	for _, arg := range args {
		if s, ok := arg.(string); ok && strings.Contains(s, string(text)) {
			return &source.Error{Class: source.Invalid, Code: pg.Code,
				Err: &unheldText{string(text), pg},
				Message: fmt.Sprintf("the database, whose encoding is %s, cannot hold %q (%U)",
					encoding, text, []rune(string(text))[0])}
		}
	}
	return &source.Error{Class: source.Internal, Code: pg.Code, Err: err,
		Message: "a text in the row is not UTF-8 and cannot be made it: " + pg.Message,
		Detail:  "the encoding of the database is " + encoding,
		Hint:    "write that text anew"}
}

// Write changes one document. The error of a character that the database cannot hold names
// the member that has it.
func (p *plan) Write(ctx context.Context, w *source.Write) (*source.Written, error) {
	done, err := p.Plan.Write(ctx, w)
	var u *unheldText
	var e *source.Error
	if err == nil || w.Input == nil || !errors.As(err, &u) || !errors.As(err, &e) {
		return done, err
	}
	if member := memberWith(p.Root, w.Input, u.text); member != "" {
		named := *e
		named.Message = member + ": " + e.Message
		err = &named
	}
	return done, err
}

// memberWith returns the path of the first member of a document that has a text in it; "":
// there is none.
func memberWith(n *document.Node, in *row.Input, text string) string {
	for i, v := range in.Values {
		if in.Present[i] && hasText(v, text) {
			return n.Shape.Fields[i].Name
		}
	}
	for _, kid := range n.Kids {
		if len(in.Rows) <= kid.Member {
			continue
		}
		for j := range in.Rows[kid.Member] {
			if m := memberWith(kid, &in.Rows[kid.Member][j], text); m != "" {
				return fmt.Sprintf("%s[%d].%s", n.Shape.Fields[kid.Member].Name, j, m)
			}
		}
	}
	return ""
}

// hasText reports whether a value, or an element of it, has a text in it.
func hasText(v row.Value, text string) bool {
	for _, e := range v.List() {
		if hasText(e, text) {
			return true
		}
	}
	switch v.Kind() {
	case row.Null, row.Array, row.Bool, row.Int, row.Uint, row.Float, row.Float32, row.Bytes:
		return false
	}
	return strings.Contains(v.Text(), text)
}
