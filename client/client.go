// Package client reads, writes and watches the documents of a hotrow server,
// over hotrow's wire protocol or over HTTP: the URL that Open is given decides,
// all else is the same.
//
// A write is visible to the reads of the same Client that follow it, on
// whatever node they arrive (see WithoutOwnWrites). Reads are tried again when a
// connection breaks, writes only when it is certain that the server has not
// begun one. Errors are of type *Error, and errors.Is tells their kinds.
//
// It keeps no documents unless WithNearCache asks it to, and it knows no schema:
// a document is bytes until Decode.
package client

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// A Client speaks to one hotrow server. It is safe for concurrent use; make one
// and keep it.
type Client struct {
	opts   options
	remote remote
	seen   positions
	near   *near // nil: no copies are kept
	closed atomic.Bool
}

// Open returns a client for the server at target: hotrow://HOST:PORT (wire),
// hotrows://HOST:PORT (wire over TLS), http://HOST:PORT[/BASE] or
// https://HOST:PORT[/BASE]. A password in the URL is taken as the token. It
// connects with the first request, not before. Call Close.
func Open(target string, opts ...Option) (*Client, error) {
	o := defaults()
	for _, set := range opts {
		set(&o)
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", target, err)
	}
	if password, ok := u.User.Password(); ok && o.token == "" {
		o.token = password
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("open %q: it names no host: want hotrow://127.0.0.1:9900 or "+
			"http://127.0.0.1:8080", target)
	}
	c := &Client{opts: o}
	switch u.Scheme {
	case "hotrow", "hotrows":
		c.remote, err = newWireRemote(u, &c.opts)
	case "http", "https":
		c.remote = newHTTPRemote(u, &c.opts)
	default:
		err = fmt.Errorf("scheme %q: want hotrow, hotrows, http or https", u.Scheme)
	}
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", u.Redacted(), err)
	}
	if o.near != nil {
		c.near = newNear(c, *o.near)
	}
	return c, nil
}

// Close ends what is on its way and closes the connections. It returns when all
// goroutines of the client have ended.
func (c *Client) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	if c.near != nil {
		c.near.close()
	}
	return c.remote.close()
}

// A remote is one way to reach a server. Its errors are *Error. It makes one
// attempt: Client decides what is tried again.
type remote interface {
	get(ctx context.Context, q *getCall) (Document, error)
	getMany(ctx context.Context, q *readCall, keys []string) ([]Document, error)
	list(ctx context.Context, q *listCall) (Page, error)
	write(ctx context.Context, w *writeCall) (Document, error)
	watch(ctx context.Context, q *watchCall) (subscription, error)
	info(ctx context.Context) (Info, error)
	close() error
}

// Get returns one document. One that is not there is ErrNotFound; the Document
// then has Missing set, and says as of when there is none.
func (c *Client) Get(
	ctx context.Context, resource, key string, opts ...ReadOption,
) (Document, error) {
	if c.near != nil && len(opts) == 0 { // Fast path: nothing is made for a copy.
		if doc, ok := c.near.space(resource).copyOf(copyKey{key, c.opts.format}); ok {
			return doc, nil
		}
	}
	q := c.newRead(resource, key, opts)
	if c.near != nil && q.plain() {
		return c.near.get(ctx, q)
	}
	return c.fetch(ctx, q)
}

// fetch asks the server for a document.
func (c *Client) fetch(ctx context.Context, q *getCall) (Document, error) {
	ctx = q.limit.within(ctx, c.opts.timeout)
	defer q.limit.end()
	return retried(ctx, c, q, safe, func() (Document, error) {
		return c.remote.get(ctx, q)
	})
}

// GetMany returns the documents of keys, in their order. One that is not there
// has Missing set; it is no error. Over the wire the keys travel in one message,
// over HTTP in a request each, some of them at the same time.
func (c *Client) GetMany(
	ctx context.Context, resource string, keys []string, opts ...ReadOption,
) ([]Document, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	ctx, cancel := c.bound(ctx)
	defer cancel()
	q := c.newRead(resource, "", opts)
	return retried(ctx, c, q, safe, func() ([]Document, error) {
		return c.remote.getMany(ctx, &q.readCall, keys)
	})
}

// List returns a page of a resource's documents in the order of their keys.
func (c *Client) List(ctx context.Context, resource string, o ListOptions) (Page, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	q := &listCall{resource: resource, options: o, format: c.opts.format}
	return retried(ctx, c, q, safe, func() (Page, error) {
		return c.remote.list(ctx, q)
	})
}

// Query returns what a query finds: filters, order, select and the like as they are written
// in the query of a URL ("author=eq.7&order=created.desc&limit=25"), percent-encoded; see
// the reference of lists. The Format is the client's. Page.Next is the query of the page
// that follows.
func (c *Client) Query(ctx context.Context, resource, query string) (Page, error) {
	if query == "" {
		page, err := c.List(ctx, resource, ListOptions{})
		if page.Next != "" {
			page.Next = "after=" + url.QueryEscape(page.Next)
		}
		return page, err
	}
	ctx, cancel := c.bound(ctx)
	defer cancel()
	q := &listCall{resource: resource, query: query, format: c.opts.format}
	if strings.Contains("&"+query, "&format=") {
		return Page{}, &Error{Op: q.name(), Kind: ErrInvalid,
			Message: "the format is the client's: leave it out of the query"}
	}
	return retried(ctx, c, q, safe, func() (Page, error) {
		return c.remote.list(ctx, q)
	})
}

// Put creates or replaces a document. value is encoded in the client's format,
// or taken as it is if it is a []byte or json.RawMessage. The answer is the
// document as the database has it after the write.
func (c *Client) Put(
	ctx context.Context, resource, key string, value any, opts ...WriteOption,
) (Document, error) {
	return c.write(ctx, opPut, resource, key, value, opts)
}

// Patch changes the members of a document that value has, as a merge patch
// (RFC 7396). A document that is not there is ErrNotFound.
func (c *Client) Patch(
	ctx context.Context, resource, key string, value any, opts ...WriteOption,
) (Document, error) {
	return c.write(ctx, opPatch, resource, key, value, opts)
}

// Delete deletes a document. One that is not there is ErrNotFound. The answer
// has a position and no body.
func (c *Client) Delete(
	ctx context.Context, resource, key string, opts ...WriteOption,
) (Document, error) {
	return c.write(ctx, opDelete, resource, key, nil, opts)
}

// write makes one write.
func (c *Client) write(
	ctx context.Context, op writeOp, resource, key string, value any, opts []WriteOption,
) (Document, error) {
	w := &writeCall{op: op, resource: resource, key: key, format: c.opts.format}
	for _, set := range opts {
		set(w)
	}
	if op != opDelete {
		var err error
		if w.body, err = encode(w.format, value); err != nil {
			return Document{}, &Error{Op: w.name(), Kind: ErrInvalid, Err: err}
		}
	}
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if c.near != nil {
		defer c.near.wrote()()
	}
	doc, err := retried(ctx, c, w, unsafeToRepeat, func() (Document, error) {
		return c.remote.write(ctx, w)
	})
	if err == nil {
		c.seen.wrote(doc.Position)
	}
	return doc, err
}

// Info says what the server serves.
func (c *Client) Info(ctx context.Context) (Info, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	return retried(ctx, c, opName("info"), safe, func() (Info, error) { return c.remote.info(ctx) })
}

// Position returns the positions that the client's reads include: those of its
// writes, and those that See was given. Hand it to another client's See, and its
// reads include these writes. It is empty when there are none.
func (c *Client) Position() string { return c.seen.text() }

// See has the reads that follow include a position, or several with commas
// between them: what Position returned, or a Document's.
func (c *Client) See(position string) {
	c.seen.wroteAll(position)
	if c.near != nil {
		c.near.wrote()()
	}
}

// bound gives a call the client's time limit if its context has no deadline.
func (c *Client) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	l := new(timeLimit)
	return l.within(ctx, c.opts.timeout), l.end
}

// newRead returns a read with the client's defaults and its own options.
func (c *Client) newRead(resource, key string, opts []ReadOption) *getCall {
	q := &getCall{readCall: readCall{resource: resource, key: key, format: c.opts.format}}
	for _, set := range opts {
		set(&q.readCall)
	}
	if c.opts.ownWrites && q.min == "" && !q.noCache {
		q.min = c.seen.text()
	}
	return q
}

// Info is what a server serves.
type Info struct {
	Resources []Resource `json:"resources"`
}

// A Resource is a named set of documents.
type Resource struct {
	Name    string   `json:"name"`
	Key     []string `json:"key"`               // the members that make a document's key
	Methods []string `json:"methods,omitempty"` // GET, PUT...: what anybody may ask for
	Example string   `json:"example,omitempty"` // the path of a document that exists
}

// ListOptions say which page of a list is asked for.
type ListOptions struct {
	Limit int    // documents; 0: the server's default
	After string // the key after which the page begins: Page.Next
}

// A Page is a part of a list.
type Page struct {
	Documents []Document // over HTTP without keys and entity tags
	Next      string     // ListOptions.After, or the query, of the next page; "" on the last one
}

// defaultTimeout is the time limit of calls whose context has no deadline.
const defaultTimeout = 10 * time.Second
