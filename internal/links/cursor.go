package links

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strings"
)

// An Order is one in which links are listed.
type Order byte

// The orders, by their names in a query.
const (
	ByCreated Order = 'd' // -created_at: the newest first
	ByClicks  Order = 'k' // -clicks: the most followed first
	ByCode    Order = 'c' // code
)

// ParseOrder returns the order of a query; "" is ByCreated.
func ParseOrder(name string) (Order, bool) {
	o, ok := map[string]Order{
		"": ByCreated, "-created_at": ByCreated, "-clicks": ByClicks, "code": ByCode,
	}[name]
	return o, ok
}

// A cursor is the place behind one link of a list: what it is ordered by, and
// its number where that is not enough.
type cursor struct {
	order Order
	code  string // ByCode
	value int64  // created_at or clicks; noClicks for a link without a row of counts
	id    int64
}

// noClicks is what a link without a row of counts is ordered by: behind all that have
// one. Links have none that another program has written and nobody has followed.
const noClicks = -1

// beginning returns the cursor before all links.
func beginning(o Order) cursor {
	return cursor{order: o, code: " ", value: math.MaxInt64, id: math.MaxInt64}
}

// compare orders two places of one order.
func (c cursor) compare(d cursor) int {
	if c.order == ByCode {
		return strings.Compare(c.code, d.code)
	}
	return cmp.Or(cmp.Compare(d.value, c.value), cmp.Compare(d.id, c.id))
}

// String returns the cursor as clients hold it.
func (c cursor) String() string {
	b := []byte{byte(c.order)}
	if c.order == ByCode {
		b = append(b, c.code...)
	} else {
		b = binary.AppendVarint(binary.AppendVarint(b, c.value), c.id)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor reads a cursor of an order.
func parseCursor(text string, order Order) (cursor, error) {
	c := cursor{order: order}
	const longest = 2 * maxCode
	if len(text) > longest {
		return c, ErrCursor
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 2 || Order(b[0]) != order {
		return c, ErrCursor
	}
	b = b[1:]
	if order == ByCode {
		if len(b) > maxCode || !isASCII(string(b)) {
			return c, ErrCursor
		}
		c.code = string(b)
		return c, nil
	}
	value, n := binary.Varint(b)
	if n <= 0 {
		return c, ErrCursor
	}
	id, m := binary.Varint(b[n:])
	if m <= 0 || n+m != len(b) {
		return c, ErrCursor
	}
	c.value, c.id = value, id
	if c.String() != text { // a number may be spelled longer than it is
		return c, ErrCursor
	}
	return c, nil
}
