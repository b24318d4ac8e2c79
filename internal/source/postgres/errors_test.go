package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/source"
)

func TestClassify(t *testing.T) {
	codes := map[string]source.Class{
		"23505": source.Conflict, "23503": source.Conflict, "23P01": source.Conflict,
		"23502": source.Invalid, "23514": source.Invalid, "22P02": source.Invalid,
		"22001": source.Invalid, "P0001": source.Invalid, "428C9": source.Invalid,
		"42501": source.Forbidden, "25006": source.ReadOnly,
		"42P01": source.Missing, "42703": source.Missing, "42883": source.Missing,
		"40001": source.Retry, "40P01": source.Retry, "53100": source.Full,
		"53300": source.Unavailable, "57014": source.Busy, "57P01": source.Unavailable,
		"57P03": source.Unavailable, "08006": source.Unavailable, "58030": source.Busy,
		"42601": source.Internal, "XX000": source.Busy, "XX001": source.Internal, "": source.Internal,
		"55P03": source.Busy, "42804": source.Missing, "ZZ123": source.Invalid,
	}
	for code, want := range codes {
		pg := &pgconn.PgError{Code: code, Message: "m", Detail: "d", Hint: "h"}
		var e *source.Error
		if err := classify(fmt.Errorf("x: %w", pg)); !errors.As(err, &e) || e.Class != want {
			t.Errorf("%s: %v, want class %d", code, err, want)
			continue
		}
		if e.Code != code || e.Message != "m" || e.Hint != "h" || !errors.Is(e, pg) {
			t.Errorf("%s: %+v", code, e)
		}
		if unsaid := code == "23502" || code == "23514"; (e.Detail == "") != unsaid {
			t.Errorf("%s: detail %q: the whole row would be in it", code, e.Detail)
		}
	}
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.Canceled,
		context.DeadlineExceeded, &net.OpError{Op: "read", Err: io.EOF}} {
		var e *source.Error
		if got := classify(err); !errors.As(got, &e) || e.Class != source.Unavailable ||
			e.After == 0 || !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
	if classify(nil) != nil {
		t.Error("an error from nil")
	}
	known := &source.Error{Class: source.Full}
	if err := classify(known); err != known {
		t.Errorf("a known error became %v", err)
	}
}
