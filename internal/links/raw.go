package links

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/links/clicks"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/source"
)

// A Click is one row of the log of clicks.
type Click struct {
	Seq      int64
	At       int64
	Link     int64  // 0: there was none
	Code     string // "" when the link is gone, too
	Kind     clicks.Kind
	IP       string // as far as it was kept
	Country  string
	Browser  string
	OS       string
	Device   string
	Referrer string
	Path     string
}

// A ClickQuery says which clicks are read.
type ClickQuery struct {
	Link   int64  // 0 with All: of every link
	All    bool   // of all links, and of none
	Newest bool   // the newest first; else the oldest
	After  string // the Next of the page before
	Limit  int
}

// rawPlace is the place behind one click: its month, and within that its time,
// where one link's are read, and its number.
type rawPlace struct {
	month   string
	at, seq int64
}

func (p rawPlace) String() string {
	n, _ := strconv.ParseUint(p.month, 10, 32) // six digits
	b := binary.AppendUvarint([]byte{'r'}, n)
	b = binary.AppendVarint(binary.AppendVarint(b, p.at), p.seq)
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseRawPlace(text string) (rawPlace, error) {
	var p rawPlace
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) == 0 || len(b) > 64 || b[0] != 'r' {
		return p, ErrCursor
	}
	month, n := binary.Uvarint(b[1:])
	if n <= 0 || month < 197001 || month > 999912 {
		return p, ErrCursor
	}
	b = b[1+n:]
	var m int
	if p.at, n = binary.Varint(b); n > 0 {
		p.seq, m = binary.Varint(b[n:])
	}
	if n <= 0 || m <= 0 || n+m != len(b) {
		return p, ErrCursor
	}
	p.month = strconv.FormatUint(month, 10)
	if p.String() != text {
		return p, ErrCursor
	}
	return p, nil
}

// Clicks reads a page of the log of clicks. Those of one link come in the order
// of time; those of all come month by month, and within one in that of their
// numbers, which is nearly the same.
func (s *Stats) Clicks(ctx context.Context, q ClickQuery) (list []Click, next string, err error) {
	months, err := schema.Months(ctx, s.DB)
	if err != nil {
		return nil, "", err
	}
	var after *rawPlace
	if q.After != "" {
		p, err := parseRawPlace(q.After)
		if err != nil {
			return nil, "", err
		}
		after = &p
	}
	if q.Newest {
		slices.Reverse(months)
	}
	var last rawPlace
	for _, m := range months {
		if after != nil && m != after.month {
			if (m < after.month) != q.Newest {
				continue // it lies before the place
			}
			after = nil
		}
		sql, args := q.sql(m, after)
		args = append(args, q.Limit+1-len(list))
		err := s.DB.Query(ctx, sql, args, func(r source.StoreRow) error {
			if len(list) == q.Limit {
				next = last.String()
				return nil
			}
			c := readClick(r)
			last = rawPlace{month: m, seq: c.Seq}
			if !q.All {
				last.at = c.At
			}
			list = append(list, c)
			return nil
		})
		if err != nil {
			return nil, "", fmt.Errorf("read clicks: %w", err)
		}
		if next != "" {
			break
		}
	}
	return list, next, nil
}

// sql returns the statement for a month, from behind a place in it.
func (q *ClickQuery) sql(month string, after *rawPlace) (string, []any) {
	var where []string
	var args []any
	greater, down := ">", ""
	if q.Newest {
		greater, down = "<", " DESC"
	}
	order := "c.seq" + down
	if !q.All {
		where, args = append(where, "c.link_id = ?"), append(args, q.Link)
		order = "c.at" + down + ", c.seq" + down
	}
	switch {
	case after != nil && q.All:
		where, args = append(where, "c.seq "+greater+" ?"), append(args, after.seq)
	case after != nil:
		where = append(where, "c.at "+greater+"= ? AND (c.at "+greater+" ? OR c.seq "+greater+" ?)")
		args = append(args, after.at, after.at, after.seq)
	}
	sql := "SELECT c.seq, c.at, c.link_id, l.code, c.kind, c.ip, c.country, a.browser, a.os," +
		" a.device, r.referrer, c.path FROM " + schema.MonthTable(month) + " c" +
		" LEFT JOIN links l ON l.id = c.link_id LEFT JOIN click_agents a ON a.id = c.agent_id" +
		" LEFT JOIN click_refs r ON r.id = c.ref_id"
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	return sql + " ORDER BY " + order + " LIMIT ?", args
}

func readClick(r source.StoreRow) Click {
	c := Click{
		Seq: r.Int(0), At: r.Int(1), Link: r.Int(2), Code: r.Text(3), Kind: clicks.Kind(r.Int(4)),
		Country: r.Text(6), Browser: r.Text(7), OS: r.Text(8), Device: r.Text(9),
		Referrer: r.Text(10), Path: r.Text(11),
	}
	if ip, ok := netip.AddrFromSlice(r.Bytes(5)); ok {
		c.IP = ip.Unmap().String()
	}
	return c
}
