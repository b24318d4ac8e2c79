package httpfront

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// patchTypes are the media types of a merge patch, as Accept-Patch has them.
const patchTypes = "application/merge-patch+json, application/json, application/vnd.msgpack, " +
	"application/cbor"

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
	case "application/cbor":
		return row.FormatCBOR, true
	}
	return 0, false
}

// input reads the request's body and decodes it by shape.
func (c *call) input(shape *row.Shape) (*row.Input, error) {
	patch := c.r.Method == http.MethodPatch
	name, coding := c.r.contentType()
	format, ok := bodyFormat(name, patch)
	if !ok || coding != "" && coding != "identity" {
		p := problem{kind: kindMediaType}
		if patch {
			p.header = "Accept-Patch: " + patchTypes + "\r\n"
		}
		return nil, p
	}
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	return shape.Decode(format, body)
}

// body reads the body as it arrives: memory is taken for what has come, never
// for what a Content-Length promises.
func (c *call) body() ([]byte, error) {
	if c.r.http == nil {
		return c.r.content, nil
	}
	limit := c.o.MaxBody
	tooLarge := problem{kind: kindTooLarge,
		detail: "the body is larger than " + strconv.FormatInt(limit, 10) + " bytes"}
	if c.r.http.ContentLength > limit {
		tooLarge.header = "Connection: close\r\n" // rather than read it all
		return nil, tooLarge
	}
	b, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.http.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, problem{kind: kindTimeout}
	case err != nil:
		return nil, problem{kind: kindBadBody, detail: "the body ended too early"}
	}
	return b, checkDigest(c.r.http.Header, b)
}
