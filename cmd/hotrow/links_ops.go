package main

import (
	"github.com/hotrow/hotrow/internal/ops"
)

// addLinks adds what the shortener counts.
func (s *server) addLinks(snap *ops.Snapshot) {
	if !s.links.begin.done.Load() {
		return
	}
	st := s.links.front.Stats()
	l := &ops.Links{
		Results: map[string]uint64{
			"redirect": st.Redirected, "gone": st.Gone, "missing": st.Missed,
			"limited": st.Limited, "method": st.Other, "failed": st.Failed,
		},
		Clicks: map[string]uint64{
			"recorded": st.Recorded, "dropped": st.Dropped, "refused": st.Refused,
		},
	}
	if s.links.drainer != nil {
		d := s.links.drainer.Stats()
		l.Clicks["stored"], l.Clicks["bad"] = d.Drained, d.Bad
		l.Clicks["poison"], l.Clicks["conflict"] = d.Poison, d.Conflicts
		l.Pending, l.Lag, l.Away = d.Tail, d.Lag, d.Away
		l.LogBytes = s.links.log.Stats().Bytes
	}
	snap.Links, snap.Alarms = l, s.linksAlarms()
	addHTTP(snap, "links", s.links.site)
	snap.Requests = append(snap.Requests, ops.Requests{
		Proto: "links", Resource: "links", Codes: map[string]uint64{
			"302": st.Redirected, "410": st.Gone, "404": st.Missed, "429": st.Limited,
			"405": st.Other, "503": st.Failed + st.Refused,
		},
		Duration: histogram(st.Histogram),
	})
}
