package httpfront

import (
	"errors"
	"io"
	"math/big"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// patchTypes are the media types of a merge patch, as Accept-Patch has them.
const patchTypes = "application/merge-patch+json, application/json, application/vnd.msgpack"

// bodyFormat returns the format that a Content-Type names. Nothing that a form
// or a simple request of a foreign page can send is among them.
func bodyFormat(contentType string, patch bool) (row.Format, bool) {
	name, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return 0, false
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return 0, false
	}
	switch name {
	case "application/json":
		return row.FormatJSON, true
	case "application/merge-patch+json":
		return row.FormatJSON, patch
	case "application/vnd.msgpack", "application/msgpack", "application/x-msgpack":
		return row.FormatMsgPack, true
	}
	return 0, false
}

// input reads the request's body and decodes it by shape.
func (c *call) input(shape *row.Shape) (*row.Input, error) {
	patch := c.r.Method == http.MethodPatch
	types := c.r.Header.Values("Content-Type")
	if len(types) != 1 {
		types = []string{""}
	}
	format, ok := bodyFormat(types[0], patch)
	if coding := c.r.Header.Get("Content-Encoding"); !ok || coding != "" && coding != "identity" {
		if patch {
			c.w.Header().Set("Accept-Patch", patchTypes)
		}
		return nil, problem{kind: kindMediaType}
	}
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	if format == row.FormatMsgPack {
		return shape.DecodeMsgPack(body)
	}
	return shape.DecodeJSON(body)
}

// body reads the body as it arrives: memory is taken for what has come, never
// for what a Content-Length promises.
func (c *call) body() ([]byte, error) {
	limit := c.o.MaxBody
	tooLarge := problem{kind: kindTooLarge,
		detail: "the body is larger than " + strconv.FormatInt(limit, 10) + " bytes"}
	if c.r.ContentLength > limit {
		c.w.Header().Set("Connection", "close") // rather than read it all
		return nil, tooLarge
	}
	b, err := io.ReadAll(http.MaxBytesReader(c.w.ResponseWriter, c.r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, problem{kind: kindTimeout}
	case err != nil:
		return nil, problem{kind: kindBadBody, detail: "the body ended too early"}
	}
	return b, nil
}

// checkBodyKey returns a problem when the body names another key than the path.
// A key that the body leaves out is the path's.
func checkBodyKey(shape *row.Shape, kt row.KeyType, in *row.Input, key row.Key) error {
	canonical, err := kt.Parse(key)
	if err != nil {
		return err
	}
	parts, ok := row.SplitKey(canonical, len(kt))
	if !ok {
		return badParts(len(kt))
	}
	for i, part := range kt {
		for j, f := range shape.Fields {
			if f.Column != part.Column || f.Kind == row.Rows || !in.Present[j] {
				continue
			}
			if !sameKeyPart(in.Values[j], part, parts[i]) {
				return problem{kind: kindKeyMismatch, detail: f.Name +
					" in the body is not the key in the path",
					hint: "leave " + f.Name + " out of the body, or make them equal"}
			}
		}
	}
	return nil
}

// sameKeyPart reports whether v, from a body, is the key column part whose
// canonical text is text. Where the database's equality is wider than that of
// the bytes, case, final spaces and the scale of a number do not count: what
// this lets pass is still for the database to compare.
func sameKeyPart(v row.Value, part row.KeyPart, text string) bool {
	got, ok := row.KeyText(v)
	switch {
	case !ok:
		return false
	case got == text:
		return true
	case !part.Wide:
		return false
	case v.Kind() == row.Decimal:
		return sameDecimal(got, text)
	}
	return strings.EqualFold(strings.TrimRight(got, " "), strings.TrimRight(text, " "))
}

// sameDecimal compares plain decimals by value. Those with an exponent are
// never the same: a short one can name a number that fills the memory.
func sameDecimal(a, b string) bool {
	if strings.ContainsAny(a+b, "eEpPxX/_") {
		return false
	}
	x, ok := new(big.Rat).SetString(a)
	if !ok {
		return false
	}
	y, ok := new(big.Rat).SetString(b)
	return ok && x.Cmp(y) == 0
}
