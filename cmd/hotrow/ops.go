package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/front"
	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/ops"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/workers"
)

// opsHandler returns what the operator's port answers with.
func (s *server) opsHandler() *ops.Port {
	v, commit := buildVersion()
	o := ops.Options{
		Version: v, Commit: commit, Hosts: func() []string { return s.cfg().Ops.Hosts },
		Authorize: s.authorizeOps, PublicMetrics: func() bool { return s.cfg().Ops.PublicMetrics },
		Stats: s.snapshot, Ready: s.ready, Notes: s.notes,
		Strict: s.strict, Invalidate: s.invalidate, Inspect: s.inspect, Events: s.events,
		Behind: s.set.Behind, Hottest: s.hottest, Rest: s.hot.Rest, Doctor: s.examine,
		Check: s.set.Check, Pages: s.tabs(s.cfg()),
	}
	for _, p := range s.protocols {
		if w, ok := p.front.(wireFront); ok { // gofast's tools ask for these
			o.Transports, o.Transport = w.Transports, w.Transport
		}
		if q, ok := p.front.(*sqlFront); ok {
			o.Statements = q.statements
		}
	}
	return ops.New(o)
}

// authorizeOps returns nil when a request is the operator's: its token says so, or
// the port is for this machine alone and the request comes from it.
func (s *server) authorizeOps(r *http.Request) error {
	if s.cfg().OpsPrivate() && front.FromHere(r) {
		return nil
	}
	return s.operatorToken(r)
}

// operatorToken returns nil when a request has the token of an operator.
func (s *server) operatorToken(r *http.Request) error {
	token, _ := httprule.BearerToken(r.Header)
	p, ok := s.tokens.Principal(token)
	switch {
	case !ok:
		return ops.ErrUnauthorized
	case !slices.Contains(p.Roles, config.RoleOperator):
		return ops.ErrForbidden
	}
	return nil
}

// ready returns nil when requests can be answered.
func (s *server) ready() error {
	if s.draining.Load() {
		return errors.New("hotrow is stopping")
	}
	if !s.discovered.Load() {
		return errors.New("the tables of the database are not known yet")
	}
	if err := s.links.ready(); err != nil {
		return err
	}
	return s.set.Available()
}

// uncached says of which sources nothing is kept in memory.
func (s *server) uncached() (lines []string) {
	for _, name := range s.set.Uncached() {
		lines = append(lines, "source "+name+
			": no change feed and no ttl: every read asks the database")
	}
	return lines
}

// strict returns nil when every answer is fresh and may come from memory.
func (s *server) strict() error {
	lines := s.uncached()
	if err := s.set.Ready(); err != nil {
		lines = append(lines, err.Error())
	}
	if len(lines) > 0 {
		return errors.New(strings.Join(lines, "\n"))
	}
	return nil
}

// notes says what is not fresh or not kept, and what is being loaded before anybody
// asks.
func (s *server) notes() []string {
	var lines []string
	if err := s.strict(); err != nil {
		lines = strings.Split(err.Error(), "\n")
	}
	for _, r := range s.set.Stats().Resources {
		if r.Warm.Asked && r.Warm.Rounds == 0 {
			lines = append(lines, fmt.Sprintf("warming %s: %d keys", r.Name, r.Warm.Keys))
		}
	}
	return append(lines, s.linksAlarms()...)
}

// invalidate forgets what an operator names, and reports whether there was any of it.
func (s *server) invalidate(_ context.Context, t ops.Target) (kept bool, err error) {
	r, key, err := s.target(t)
	if err != nil {
		return false, err
	}
	if key == nil {
		return true, r.Invalidate(nil)
	}
	if kept, err = r.Kept(*key); err == nil {
		err = r.Invalidate(key)
	}
	return kept, badKey(err)
}

// target finds the resource that an operator names, and the key; nil for all documents.
func (s *server) target(t ops.Target) (r *resource.Resource, key *row.Key, err error) {
	segment, byPath := "", t.Path != ""
	if byPath {
		if t.Resource, segment, byPath, err = httpfront.ParseDocument(t.Path); err != nil {
			return nil, nil, fmt.Errorf("%s: %w: %w", t.Path, ops.ErrKey, err)
		}
	}
	r, ok := s.set.Lookup(t.Resource)
	if !ok {
		return nil, nil, fmt.Errorf("%s: %w", t.Resource, ops.ErrNoResource)
	}
	switch {
	case byPath:
		k, err := httpfront.ParseKey(segment, len(r.KeyType()))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w: %w", t.Path, ops.ErrKey, err)
		}
		return r, &k, nil
	case t.Key != nil:
		k := row.Key(*t.Key)
		return r, &k, nil
	}
	return r, nil, nil
}

// badKey marks the error of a key that no row can have.
func badKey(err error) error {
	if errors.Is(err, row.ErrKey) {
		return fmt.Errorf("%w: %w", err, ops.ErrKey)
	}
	return err
}

// snapshot collects what everybody counts.
func (s *server) snapshot() ops.Snapshot {
	st := s.set.Stats()
	snap := ops.Snapshot{Panics: workers.Panics()}
	addRequests(&snap, "http", s.front.Stats())
	shares := s.shares(s.memory.Shares())
	for i := range st.Resources {
		r := &st.Resources[i]
		one := resourceSnapshot(r)
		one.Memory = shares[r.Name]
		snap.Resources = append(snap.Resources, one)
		snap.Watchers += r.Watchers
		snap.WatchDropped += r.WatchDropped
	}
	lines := s.access.Stats()
	snap.AccessLog = ops.AccessLog{Lines: lines.Lines, Dropped: lines.Dropped}
	if s.tracer != nil {
		spans := ops.Spans(s.tracer.Stats())
		snap.Spans = &spans
	}
	snap.Unsent = ops.Unsent(s.unsent.Stats())
	snap.Watches = ops.Watches(s.front.Watches())
	snap.JWT, snap.Fallback = s.jwtSnapshot(), s.fallbackSnapshot()
	snap.Copies = ops.Copies{Made: st.Copies.Made, Refused: st.Copies.Refused,
		Dropped: st.Copies.Dropped, Late: st.Copies.Late}
	snap.Tiers = []ops.Tier{memoryTier(s.memory)}
	s.addDisk(&snap)
	s.addLinks(&snap)
	addHTTP(&snap, "http", s.site)
	for _, p := range s.protocols {
		p.front.addTo(&snap)
		addRefused(&snap, p.name, p.site.Refused())
	}
	if s.opsGate != nil {
		addRefused(&snap, "ops", s.opsGate.Refused())
	}
	for i := range st.Sources {
		src := &st.Sources[i]
		snap.Feeds = append(snap.Feeds, feedSnapshot(src))
		snap.Pools = append(snap.Pools, ops.Pool{
			Source: src.Name, InUse: src.Pool.InUse, Idle: src.Pool.Idle,
			Waiting: src.Pool.Waiting + src.Waiting,
		})
		for op, h := range src.Timings {
			snap.Queries = append(snap.Queries, ops.Queries{
				Source: src.Name, Op: op, Duration: timing(h),
			})
		}
	}
	return snap
}

// memoryTier is what memory holds and counts.
func memoryTier(m *tier.Memory) ops.Tier {
	t := m.Stats()
	of := ops.Tier{
		Name: "memory", Entries: t.Entries, Negative: t.Negative, Bytes: t.Bytes,
		MaxBytes: t.MaxBytes, Hits: t.Hits, Misses: t.Misses, Evictions: t.Evictions,
		CopyBytes: t.CopyBytes, LimboBytes: t.Limbo, WasteBytes: t.Waste,
		EvictionAge: ops.Seconds(t.Age),
	}
	for _, size := range m.Sizes() {
		of.Sizes = append(of.Sizes, ops.Size(size))
	}
	if e, known := m.Estimate(); known {
		of.HitRatio = &ops.HitRatio{Half: e.Half, Now: e.Now, Twice: e.Twice}
	}
	return of
}

// shares are what each resource takes of the memory.
func (s *server) shares(list []tier.Share) map[string][]ops.Share {
	byName := make(map[string][]ops.Share)
	for _, sh := range list {
		if name, kind := s.set.NameOf(sh.Resource); name != "" {
			byName[name] = append(byName[name], ops.Share{Kind: kind,
				Format: sh.Format.String(), Entries: sh.Entries, Bytes: sh.Bytes})
		}
	}
	return byName
}

// addRequests adds those of a front.
func addRequests[C comparable](
	snap *ops.Snapshot, proto string, list []front.ResourceStats[C],
) {
	for _, r := range list {
		codes := make(map[string]uint64, len(r.Codes))
		for code, n := range r.Codes {
			codes[fmt.Sprint(code)] += n
		}
		snap.Requests = append(snap.Requests, ops.Requests{
			Proto: proto, Resource: r.Resource, Codes: codes, Duration: histogram(r.Histogram),
		})
	}
}

func histogram(h front.Histogram) ops.Histogram {
	return ops.Histogram{Bounds: front.Buckets[:], Counts: h.Buckets, Sum: h.Seconds}
}

func resourceSnapshot(r *resource.ResourceStats) ops.Resource {
	kept := 1.0
	if done := r.Stored + r.Discarded; done > 0 {
		kept = float64(r.Stored) / float64(done)
	}
	lookups := []ops.Lookups{{
		Tier: "memory", Hit: r.Hits, Miss: r.Misses, Stale: r.Stale, Negative: r.Negative,
	}}
	if r.Disk {
		lookups = append(lookups, ops.Lookups{
			Tier: "disk", Hit: r.FromDisk, Miss: r.Misses - min(r.FromDisk, r.Misses),
		})
	}
	var warm *ops.Warm
	if w := r.Warm; w.Asked {
		warm = &ops.Warm{Running: w.Running, Keys: w.Keys, Rounds: w.Rounds}
	}
	var words *ops.Words
	if r.Worded {
		words = &ops.Words{Coarse: r.Over}
	}
	return ops.Resource{
		Words: words,
		Name:  r.Name, Source: r.Source,
		Cacheability: kept, Lookups: lookups, Warm: warm, Bypass: r.Bypassed,
		Watchers: r.Watchers,
		Fills: ops.Fills{
			Stored: r.Stored, Discarded: r.Discarded, Collapsed: r.Collapsed, Error: r.Errors,
			Written: r.Kept,
		},
		Invalidations: ops.Invalidations{
			Feed: r.Fed, Write: r.Written, Admin: r.Admin, Gap: r.Gaps,
		},
		Lists: ops.Lists(r.Lists),
	}
}

func feedSnapshot(s *resource.SourceStats) ops.Feed {
	f := ops.Feed{
		Source: s.Name, Mode: string(s.Feed), Why: s.Reason, Up: s.Attached, State: s.State,
		Lag: ops.Seconds(s.Lag), Gaps: s.Gaps, Events: s.Stats.Changes, Epoch: s.Epoch,
		Rests:           s.Idle,
		FenceFailures:   s.FencesFailed,
		Probes:          s.Probes,
		Elsewhere:       s.Elsewhere,
		LeftOut:         s.Left,
		Position:        s.Place,
		Unsettled:       s.Unsettled,
		UnsettledOldest: ops.Seconds(s.UnsettledOldest), EpochWhy: s.EpochWhy,
		Audited: s.Audited, AuditStale: s.AuditStale, ListTemplates: s.Templates,
	}
	if !s.EpochSince.IsZero() {
		f.EpochAge = ops.Seconds(time.Since(s.EpochSince))
	}
	if s.Feed == source.FeedNone {
		f.Lag = 0
	}
	return f
}

// timing turns a histogram of the resource package into that of metrics.
func timing(t resource.Timing) ops.Histogram {
	h := ops.Histogram{Counts: t.Buckets[:], Sum: t.Sum.Seconds()}
	for _, b := range resource.TimingBounds {
		h.Bounds = append(h.Bounds, b.Seconds())
	}
	return h
}
