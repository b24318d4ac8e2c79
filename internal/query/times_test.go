package query

import (
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

func TestOperand_TimesOfEveryPrecision(t *testing.T) {
	const none = "refused"
	for _, tt := range []struct {
		kind       row.Kind
		op         Op
		text, want string
	}{
		{row.DatetimeTZ, Gte, "2024-01-01", "2024-01-01T00:00:00Z"},
		{row.DatetimeTZ, Eq, "2024-01-01T10:00:00", "2024-01-01T10:00:00Z"},
		{row.DatetimeTZ, Lt, "2024-01-01 10:00:00.5", "2024-01-01T10:00:00.5Z"},
		{row.DatetimeTZ, Lt, "2024-01-01T10:00", "2024-01-01T10:00:00Z"},
		{row.DatetimeTZ, Lt, "2024-01-01T10:00:00+02:00", "2024-01-01T08:00:00Z"},
		{row.DatetimeTZ, Lt, "infinity", "infinity"},
		{row.DatetimeTZ, Lt, "2024-13-01", none},
		{row.DatetimeTZ, Lt, "2024-01", none},
		{row.DatetimeTZ, Lt, "yesterday", none},
		{row.Datetime, Gte, "2024-01-01", "2024-01-01T00:00:00"},
		{row.Datetime, Gte, "2024-01-01T00:30:00+02:00", "2023-12-31T22:30:00"},
		{row.Datetime, Gte, "2024-01-01T10:00:00Z", "2024-01-01T10:00:00"},
		{row.Date, Gte, "2024-01-01T00:00:00", "2024-01-01"},
		{row.Date, Gte, "2024-01-01T10:00:00", "2024-01-02"},
		{row.Date, Gt, "2024-01-01T10:00:00", "2024-01-01"},
		{row.Date, Lt, "2024-12-31T10:00:00Z", "2025-01-01"},
		{row.Date, Lte, "2024-01-01T10:00:00", "2024-01-01"},
		{row.Date, Eq, "2024-01-01 00:00", "2024-01-01"},
		{row.Date, Eq, "2024-01-01T10:00:00", none},
		{row.Text, Eq, "2024-01-01", "2024-01-01"},
		{row.Time, Eq, "2024-01-01", none},
	} {
		c := &Column{Name: "at", Member: "at", Part: row.KeyPart{Kind: tt.kind}}
		got, err := c.operand(tt.op, tt.text)
		if err != nil {
			got = none
		}
		if got != tt.want {
			t.Errorf("kind %v, %v %s: %s, want %s", tt.kind, tt.op, tt.text, got, tt.want)
		}
	}
}
