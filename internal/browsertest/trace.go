package browsertest

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"

	"github.com/hotrow/hotrow/internal/waittest"
)

// A Trace is what the main thread of a page has done, by the clock of that thread: a busy
// machine does not make it longer.
type Trace struct {
	Longest time.Duration // of its tasks
	Script  time.Duration // running scripts, and parsing what they read
	Layout  time.Duration // of styles and boxes
}

// A traceEvent is one that Chromium has written. Durations are in microseconds.
type traceEvent struct {
	Name string
	Ph   string // "X": it has a duration
	PID  int
	TID  int
	TS   float64
	Dur  float64
	TDur float64 // by the clock of the thread
	Args struct{ Name string }
}

// scripts and layouts are the names of events that do not contain each other's kind, unless a
// script asks for a layout.
var (
	scripts = []string{"FunctionCall", "EvaluateScript", "RunMicrotasks",
		"BlinkScheduler_PerformMicrotaskCheckpoint", "TimerFire",
		"EventDispatch", "v8.callFunction"}
	layouts = []string{"UpdateLayoutTree", "Layout", "PrePaint"}
)

// Trace traces the page while something is done.
func (tab *Tab) Trace(during func()) (t Trace) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, waittest.Limit(2*pageTimeout))
	defer cancel()
	var chunks []*tracing.EventDataCollected // before complete is closed
	complete := make(chan struct{})
	err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *tracing.EventDataCollected:
			chunks = append(chunks, ev)
		case *tracing.EventTracingComplete:
			close(complete)
		}
	})
	if err != nil {
		tab.t.Fatal(err)
	}
	_, err = chromedp.Call(ctx, tracing.Start, tracing.StartParams{
		TraceConfig: &tracing.TraceConfig{IncludedCategories: []string{
			"toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "v8"}}})
	if err != nil {
		tab.t.Fatal(err)
	}
	during()
	if _, err := chromedp.Call(ctx, tracing.End, cdp.Empty{}); err != nil {
		tab.t.Fatal(err)
	}
	select {
	case <-complete:
	case <-ctx.Done():
		tab.t.Fatal("the trace does not end")
	}
	var events []traceEvent
	for _, chunk := range chunks {
		for _, value := range chunk.Value {
			var e traceEvent
			if json.Unmarshal(value, &e) == nil {
				events = append(events, e)
			}
		}
	}
	return summed(tab, events)
}

// summed adds up what the main thread of the page has done. An event within another of a kind
// that is counted is not counted again.
func summed(tab *Tab, events []traceEvent) (t Trace) {
	main := map[[2]int]bool{}
	for _, e := range events {
		if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			main[[2]int{e.PID, e.TID}] = true
		}
	}
	slices.SortStableFunc(events, func(a, b traceEvent) int { return int(a.TS - b.TS) })
	ends := map[[2]int]float64{}
	for _, e := range events {
		thread, took := [2]int{e.PID, e.TID}, time.Duration(e.TDur*1e3)
		if e.Ph != "X" || !main[thread] {
			continue
		}
		if e.Name == "ThreadControllerImpl::RunTask" {
			t.Longest = max(t.Longest, took)
		}
		script, layout := slices.Contains(scripts, e.Name), slices.Contains(layouts, e.Name)
		if !script && !layout || e.TS < ends[thread] {
			continue
		}
		ends[thread] = e.TS + e.Dur
		if script {
			t.Script += took
		} else {
			t.Layout += took
		}
	}
	if t.Longest == 0 || t.Script == 0 || t.Layout == 0 {
		names := map[string]int{}
		for _, e := range events {
			names[e.Name+" "+e.Ph]++
		}
		tab.t.Fatalf("the trace has %+v, of events %v on %v", t, names, main)
	}
	return t
}
