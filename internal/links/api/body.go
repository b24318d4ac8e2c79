package api

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/row"
)

// The media types of the API.
const (
	typeJSON   = "application/json"
	typeMerge  = "application/merge-patch+json"
	typeNDJSON = "application/x-ndjson"
	typeCSV    = "text/csv"
	typeEvents = "text/event-stream"
)

// msgPackTypes are the names of MessagePack. A client is answered with the one
// that it asked for.
var msgPackTypes = []string{
	"application/vnd.msgpack", "application/msgpack", "application/x-msgpack",
}

// bodyType returns the media type of the body. What a form, or a simple request
// of a foreign page, can send is none of those that are taken.
func (c *call) bodyType() string {
	types := c.r.Header.Values("Content-Type")
	coding := c.r.Header.Get("Content-Encoding")
	if len(types) != 1 || coding != "" && coding != "identity" {
		return ""
	}
	name, params, err := mime.ParseMediaType(types[0])
	charset, has := params["charset"]
	if err != nil || has && !strings.EqualFold(charset, "utf-8") {
		return ""
	}
	return name
}

// format returns the format of a body of one document.
func (c *call) format() (row.Format, error) {
	name := c.bodyType()
	if name == typeJSON || name == typeMerge && c.r.Method == http.MethodPatch {
		return row.FormatJSON, nil
	}
	for _, t := range msgPackTypes {
		if name == t {
			return row.FormatMsgPack, nil
		}
	}
	return 0, problem{kind: kindMedia,
		detail: "send Content-Type: application/json, or application/vnd.msgpack"}
}

// read reads the body as it arrives: memory is taken for what has come, never
// for what a Content-Length promises.
func (c *call) read() ([]byte, error) {
	limit := c.o.MaxBody
	tooLarge := problem{kind: kindTooLarge,
		detail: "a link has at most " + strconv.FormatInt(limit, 10) + " bytes"}
	if c.r.ContentLength > limit {
		c.w.Header().Set("Connection", "close") // rather than read it all
		return nil, tooLarge
	}
	b, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case err != nil:
		return nil, problem{kind: kindBadJSON, detail: "the body ended too early"}
	}
	return b, nil
}

// draft reads the body as a link.
func (c *call) draft() (*links.Draft, error) {
	f, err := c.format()
	if err != nil {
		return nil, err
	}
	body, err := c.read()
	if err != nil {
		return nil, err
	}
	return parseDraft(body, f)
}

// parseDraft reads a body as a link. A body that is right as such, and no link,
// is invalid; only one that cannot be read at all is bad.
func parseDraft(body []byte, f row.Format) (*links.Draft, error) {
	d, err := links.ParseDraft(body, f)
	var decode *row.DecodeError
	if errors.As(err, &decode) && readable(body, f) {
		return nil, problem{kind: kindInvalid, detail: decode.Error(), field: decode.Path}
	}
	return d, err
}

// anything is an object with one member, which may be anything.
var anything = row.NewShape([]row.Field{{Name: "b", Kind: row.JSON}})

// readable reports whether a body can be read, whatever it says.
func readable(body []byte, f row.Format) bool {
	var err error
	if f == row.FormatMsgPack {
		_, err = anything.DecodeMsgPack(append([]byte("\x81\xa1b"), body...))
	} else {
		_, err = anything.DecodeJSON([]byte(`{"b":` + string(body) + "}"))
	}
	return err == nil
}

// answerType returns the media type in which the client wants its answer, and
// whether that is MessagePack.
func (c *call) answerType() (string, row.Format, error) {
	offers := append([]string{typeJSON}, msgPackTypes...)
	i, ok := c.negotiate(offers)
	switch {
	case !ok:
		return "", 0, problem{kind: kindAcceptable,
			detail: "the answer is application/json or application/vnd.msgpack"}
	case i == 0:
		return typeJSON, row.FormatJSON, nil
	}
	return offers[i], row.FormatMsgPack, nil
}

// A member is one of an object that is an answer. Its value is what
// encoding/json takes; a json.RawMessage is taken over as it is.
type member struct {
	name  string
	value any
}

// answer writes an object with these members in the format that was asked for.
func (c *call) answer(status int, members ...member) error {
	name, format, err := c.answerType()
	if err != nil {
		return err
	}
	fields, values := make([]row.Field, len(members)), make(row.Values, len(members))
	for i, m := range members {
		text, err := json.Marshal(m.value)
		if err != nil {
			return err
		}
		fields[i] = row.Field{Name: m.name, Kind: row.JSON}
		values[i] = row.TextValue(row.JSON, string(text))
	}
	shape := row.NewShape(fields)
	if format == row.FormatMsgPack {
		return c.write(status, name, shape.AppendMsgPack(nil, values))
	}
	return c.write(status, name, append(shape.AppendJSON(nil, values), '\n'))
}

// now is the time in milliseconds since 1970.
func (c *call) now() int64 { return c.o.Now().UnixMilli() }

// link writes a link as the answer.
func (c *call) link(status int, l *links.Link) error {
	name, format, err := c.answerType()
	if err != nil {
		return err
	}
	c.w.Header().Set("ETag", l.ETag())
	body := l.Append(nil, format, c.o.Links.Rules, c.now())
	if format == row.FormatJSON {
		body = append(body, '\n')
	}
	return c.write(status, name, body)
}

// write sends an answer.
func (c *call) write(status int, mediaType string, body []byte) error {
	c.sent = true
	head := c.w.Header()
	head.Set("Content-Type", mediaType)
	head.Set("Content-Length", strconv.Itoa(len(body)))
	head.Add("Vary", "Accept")
	c.w.WriteHeader(status)
	_, err := c.w.Write(body)
	if err != nil && c.r.Context().Err() == nil {
		c.o.Log.Debug("answer not taken", "err", err)
	}
	return nil
}

// negotiate returns which offer the request's Accept header likes best.
func (c *call) negotiate(offers []string) (int, bool) {
	return httprule.Negotiate(c.r.Header.Values("Accept"), offers)
}
