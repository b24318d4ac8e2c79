package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/links/clicks"
)

// A Live gives clicks as they come. A clicks.Drainer is one.
type Live interface {
	Subscribe(token string) (*clicks.Subscription, error)
}

// heartbeat is how often something is sent to who follows clicks: it keeps the
// connection from being taken for dead, and tells us when it is.
const heartbeat = 15 * time.Second

// live answers with an event for each click as it comes (text/event-stream). The
// id of an event is where Last-Event-ID goes on behind it.
func (c *call) live() error {
	if err := c.may(links.RoleRead, false); err != nil {
		return err
	}
	if err := c.known("code"); err != nil {
		return err
	}
	if c.o.Live == nil {
		return problem{kind: kindNotFound, detail: "clicks are not recorded"}
	}
	link := clicks.All
	if code := c.form.Get("code"); code != "" {
		l, err := c.o.Links.Get(c.r.Context(), code)
		if err != nil {
			return err
		}
		link = l.ID
	}
	sub, err := c.o.Live.Subscribe(c.r.Header.Get("Last-Event-ID"))
	if errors.Is(err, clicks.ErrToken) {
		return problem{kind: kindBadQuery, detail: "Last-Event-ID does not come from this server"}
	}
	if err != nil {
		return err
	}
	head := c.w.Header()
	head.Set("Content-Type", typeEvents)
	head.Set("X-Accel-Buffering", "no") // nginx would wait for more
	c.sent = true
	c.w.WriteHeader(http.StatusOK)
	f := &follower{c: c, link: link, sub: sub, codes: make(map[int64]string), checked: time.Now()}
	return f.run()
}

// A follower is one live stream.
type follower struct {
	c     *call
	link  int64 // clicks.All, or the only one
	sub   *clicks.Subscription
	codes map[int64]string // of links met so far
	lost  uint64
	out   bytes.Buffer

	checked time.Time // when it was last looked at whether the client may follow
}

// checkEvery is how often it is looked at whether a client may still follow clicks.
const checkEvery = time.Second

// maxCodes bounds the codes that a stream remembers.
const maxCodes = 10_000

// run sends events until the client goes or the server is shut down. Neither is
// an error.
func (f *follower) run() error {
	ctx, cancel := context.WithCancel(f.c.r.Context())
	defer cancel()
	go func() {
		select {
		case <-f.c.h.shut:
			cancel()
		case <-ctx.Done():
		}
	}()
	f.out.WriteString("retry: 2000\n\n")
	for {
		if err := f.flush(); err != nil {
			return nil
		}
		wait, stop := context.WithTimeout(ctx, heartbeat)
		events, err := f.sub.Next(wait)
		stop()
		switch {
		case ctx.Err() != nil, !f.may():
			return nil
		case errors.Is(err, context.DeadlineExceeded):
			f.out.WriteString(": here\n\n")
		case err != nil:
			return err
		default:
			if err := f.add(ctx, events); err != nil {
				return err
			}
		}
	}
}

// may reports whether the client may still follow: its key may have been deleted since.
func (f *follower) may() bool {
	if time.Since(f.checked) < checkEvery {
		return true
	}
	f.checked = time.Now()
	var refused problem
	return !errors.As(f.c.may(links.RoleRead, false), &refused)
}

// flush sends what has been added. A client has the time of two heartbeats to
// take it.
func (f *follower) flush() error {
	f.c.extend()
	_, err := f.c.w.Write(f.out.Bytes())
	f.out.Reset()
	if err == nil {
		err = http.NewResponseController(f.c.w).Flush()
	}
	return err
}

// add writes events. The last of them has the id: a client that breaks off among
// them gets them once more rather than not at all.
func (f *follower) add(ctx context.Context, events []clicks.Event) error {
	if err := f.learn(ctx, events); err != nil {
		return err
	}
	if lost := f.sub.Lost(); lost > f.lost {
		f.event("lost", map[string]uint64{"clicks": lost - f.lost})
		f.lost = lost
	}
	for i := range events {
		e := &events[i]
		if f.link != clicks.All && e.Link != f.link {
			continue
		}
		k := links.Click{Seq: int64(e.Seq), At: e.At, Link: e.Link, Code: f.codes[e.Link],
			Kind: e.Kind, Country: e.Country, Browser: e.Browser, OS: e.OS, Device: e.Device,
			Referrer: e.Referrer, Path: e.Path}
		if e.IP.IsValid() {
			k.IP = e.IP.Unmap().String()
		}
		f.event("click", clickOf(&k))
	}
	f.out.WriteString("id: " + f.sub.Position() + "\n\n")
	return nil
}

// event writes one event.
func (f *follower) event(name string, data any) {
	text, err := json.Marshal(data)
	if err != nil { // strings and numbers: it cannot be
		return
	}
	f.out.WriteString("event: " + name + "\ndata: ")
	f.out.Write(text)
	f.out.WriteString("\n\n")
}

// learn looks up the codes of links that have not been met yet.
func (f *follower) learn(ctx context.Context, events []clicks.Event) error {
	if len(f.codes) > maxCodes {
		clear(f.codes)
	}
	var missing []int64
	for i := range events {
		id := events[i].Link
		if _, known := f.codes[id]; known || id <= 0 || f.link != clicks.All && id != f.link {
			continue
		}
		f.codes[id] = "" // one that is gone is not asked for again
		missing = append(missing, id)
	}
	for len(missing) > 0 {
		n := min(len(missing), 500)
		codes, err := f.c.o.Links.Codes(ctx, missing[:n])
		if err != nil {
			return err
		}
		for id, code := range codes {
			f.codes[id] = code
		}
		missing = missing[n:]
	}
	return nil
}
