package httpfront

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// What a request may have is decided here, on the event loop as behind net/http: whether
// the Host is ours and what the path names (route), who may read, which document is asked
// for, in which representation, how fresh (ask), and, once there is a document, whether
// the conditions hold and in which coding it is sent (conclude).

// route checks the Host of a request, refuses what it may not ask of anything, and reads its
// path into t.
func (o *settings) route(m *memo, p *peer, r *request, t *target) error {
	if !p.mayAsk(o, r.Host) {
		return problem{kind: kindMisdirected}
	}
	if err := m.vet(o, r); err != nil {
		return err
	}
	path, ok := row.Alias(r.Path), true
	if o.BasePath != "" {
		path, ok = strings.CutPrefix(path, o.BasePath)
		ok = ok && path != "" && path[0] == '/'
	}
	if !ok {
		return problem{kind: kindNotFound, detail: "nothing is served at this path"}
	}
	rest, profile := o.profilePath(path)
	err := m.demands(o, r, profile)
	if profile && (err == nil || o.Fallback != nil && lacks(err)) {
		refused := err
		err = t.parseProfile(rest)
		t.refused = refused
		return err
	}
	if err != nil {
		return err
	}
	err = t.parse(path)
	if err != nil && o.below(path, t) {
		return nil
	}
	return err
}

// find returns the resource called name.
func (o *settings) find(name string) (*resource.Resource, error) {
	if res, ok := o.Resources.Lookup(name); ok {
		return res, nil
	}
	if o.Starting != nil && o.Starting() {
		return nil, problem{kind: kindStarting, after: time.Second}
	}
	// They may have become known since the first look.
	if res, ok := o.Resources.Lookup(name); ok {
		return res, nil
	}
	return nil, problem{kind: kindNotFound, detail: "there is no resource of this name",
		hint: "GET / lists the resources"}
}

// A question is what a read asks for, as decided. Its texts may alias the request.
type question struct {
	res     *resource.Resource
	private bool   // the answer is not for everybody
	who     string // the name of the principal, if one was asked for
	segment string // of the path: the key as it was sent
	key     row.Key
	media   *media
	directives
	least resource.Token // what the answer must include; zero: nothing

	// general says that a list is asked for otherwise than by keys or a page of all
	// documents: package query reads what for.
	general bool
}

// begin makes q a question for a resource that the rule protects. It is cleared in place: a
// value made beside it and copied costs 15 ns more.
func (q *question) begin(o *settings, res *resource.Resource, rule resource.Rule) {
	*q = question{}
	q.res, q.private, q.maxAge = res, rule != "public" || o.granted(), -1
}

// ask decides about a read of a document of a resource that the rule protects.
// On the way of a hit it allocates nothing.
func (q *question) ask(
	o *settings, m *memo, r *request, res *resource.Resource, rule resource.Rule, segment string,
) (err error) {
	q.begin(o, res, rule)
	q.segment = segment
	random := o.isRandom(segment)
	if !random {
		if q.key, err = parseKey(segment, len(res.KeyType())); err != nil {
			return err
		}
	}
	if q.private {
		if q.who, err = m.admit(o, r, res, rule); err != nil {
			return err
		}
	}
	if random {
		if q.key, err = o.random.pick(res); err != nil {
			return err
		}
	}
	if q.media, err = m.media(r); err != nil {
		return err
	}
	if r.IfMatch != nil || r.IfNoneMatch != nil {
		if err = checkConditions(r); err != nil {
			return err
		}
	}
	return q.freshness(r)
}

// freshness reads how fresh the answer must be.
func (q *question) freshness(r *request) error {
	// Fast path: as fresh as promised to all.
	if r.CacheControl == nil && r.MinPosition == nil {
		return nil
	}

	// Slow path.
	return q.freshnessOf(r)
}

// freshnessOf is freshness for a request that says so.
func (q *question) freshnessOf(r *request) (err error) {
	if r.CacheControl != nil {
		q.directives = parseDirectives(row.Alias(r.CacheControl))
		if q.noCache && q.onlyIfCached {
			return resource.ErrNotCached // the two together leave no answer
		}
	}
	if r.MinPosition != nil {
		q.least, err = minPosition(q.res.Source(), row.Alias(r.MinPosition))
	}
	return err
}

// takes reports whether what memory has as of at is an answer.
func (q *question) takes(state resource.State, at *resource.AsOf) bool {
	if state == resource.Miss || q.noCache || q.exceeds(at.Lag) && !q.onlyIfCached {
		return false
	}
	return q.least.IsZero() ||
		state != resource.Stale && at.Fresh && at.Token.Includes(q.least)
}

// options returns how a load may answer the question.
func (q *question) options(r *request) resource.Options {
	o := resource.Options{Format: q.media.format, NoCache: q.noCache,
		OnlyIfCached: q.onlyIfCached, Min: q.least}
	if r.Prefer != nil {
		o.Wait = parsePrefer(row.Alias(r.Prefer)).wait
	}
	return o
}

// onlyFormat returns the value of ?format=, the one parameter that a document
// takes. Any other is an error: a filter that is silently left out would give
// an answer to another question.
func onlyFormat(query string) (string, error) {
	if query == "" {
		return "", nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", problem{kind: kindBadQuery, detail: "the query cannot be read"}
	}
	for name, v := range values {
		if name != "format" {
			return "", problem{kind: kindBadQuery, detail: "unknown parameter " + clip(name),
				hint: "a document takes format only"}
		}
		if len(v) > 1 {
			return "", givenTwice(name)
		}
	}
	return values.Get("format"), nil
}

func givenTwice(name string) error {
	return problem{kind: kindBadQuery, detail: "parameter " + clip(name) + " is given twice"}
}

// errLater says that an answer is not for an event loop to make.
var errLater = errors.New("this takes long")

// A found is what was found to answer a question with.
type found struct {
	doc    *row.Document // it may be Absent
	key    row.Key       // canonical
	list   *resource.List
	kept   bool   // memory has it as it is: its copies may be asked for
	shared []byte // the header lines that say where it is from: see appendShared
}

// conclude makes the answer to q of what was found. coder compresses what memory has no
// copy of and the client takes in no other form; without one that is errLater.
func (q *question) conclude(
	o *settings, m *memo, r *request, f *found, coder *row.Coder,
) (*answer, error) {
	a := &m.a
	*a = answer{}
	a.code, a.shared = 200, f.shared
	if f.doc.Absent() {
		m.absent(o, q, r, f.key)
		return a, nil
	}
	a.doc = f.doc
	if f.list != nil {
		if a.more = f.list.Lines; f.list.Partial {
			a.code = http.StatusPartialContent
		}
	}
	coded := r.AcceptEncoding != nil && len(o.Compression) > 0

	// Fast path: no conditions, no codings.
	if !coded && r.IfNoneMatch == nil && r.IfMatch == nil && q.media.stored() {
		return a, nil
	}

	// Slow path.
	takes := plainOnly
	if coded {
		takes = m.takes(o, r, q.private, q.noTransform)
		rep, err := takes.represent(f.doc, coder)
		if err != nil {
			return nil, err
		}
		a.doc = rep
	}
	a.media = q.media
	if r.IfMatch != nil {
		if _, ok := takes.held(r.IfMatch, f.doc, a.doc, false); !ok {
			return nil, resource.ErrPrecondition
		}
	}
	if r.IfNoneMatch != nil {
		if tag, ok := takes.held(r.IfNoneMatch, f.doc, a.doc, true); ok {
			a.code, a.tag, a.doc, a.more = 304, tag, nil, ""
			return a, nil
		}
	}
	if takes.n > 0 && f.kept && a.doc.Coding() != takes.list[0] {
		q.res.AskCopy(f.key, f.doc, takes.list[0])
	}
	return a, nil
}

// held returns the first of a list of entity tags that is of doc in a coding that the
// client takes. "*" stands for the tag of rep, which is what would be sent. weak tags
// count as the strong ones that they are without their W/, or not at all.
//
// Not the tag of rep alone: the copy of a document is made some time after the
// document, and made anew after each change, and a client that follows it by
// conditional requests would be sent everything twice each time, first plainly
// and then compressed, although it holds what is current.
func (a *accepted) held(list []byte, doc, rep *row.Document, weak bool) (string, bool) {
	// Fast path: the one tag that the client was sent.
	if rep.HasETag(row.Alias(list)) && a.takes(rep.Coding()) {
		return row.Alias(list), true
	}

	// Slow path.
	for t := range httprule.EachTag(row.Alias(list)) {
		if t == "*" {
			return rep.ETag(), true
		}
		if strings.HasPrefix(t, "W/") {
			if !weak {
				continue
			}
			t = t[2:]
		}
		if c, ok := doc.TagCoding(t); ok && a.takes(c) {
			return t, true
		}
	}
	return "", false
}
