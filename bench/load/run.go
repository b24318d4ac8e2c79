package load

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"
)

// Run makes the requests that c asks for and returns what was measured. It
// fails if the server cannot be reached at the start; what fails later is
// counted. When ctx ends, so does the run, with its error.
func Run(ctx context.Context, c Config) (*Result, error) {
	c, to, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", c.URL, err)
	}
	r := &run{cfg: c, to: to, requests: newRequests(&c, to)}
	if err := r.probe(ctx); err != nil {
		return nil, fmt.Errorf("load %s: %w", c.URL, err)
	}
	r.opens = int64(c.Warmup)
	r.closes = r.opens + int64(c.Duration)
	r.began = time.Now()
	form := runGoroutines
	if c.engine == loopEngine {
		form = runLoops
	}
	if err := form(ctx, r); err != nil {
		return nil, fmt.Errorf("load %s: %w", c.URL, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load %s: %w", c.URL, err)
	}
	return r.result(), nil
}

// probe connects once, so that a server which is not there is an error and not
// a table of zeros.
func (r *run) probe(ctx context.Context) error {
	d := net.Dialer{Timeout: r.cfg.Timeout}
	conn, err := d.DialContext(ctx, "tcp", r.to.network)
	if err != nil {
		return err
	}
	return conn.Close()
}

// A mark is the state of all counters at one moment.
type mark struct {
	at       time.Time
	answers  uint64
	server   usage
	own      usage
	complete bool // the server's usage could be read
}

// mark reads all counters.
func (r *run) mark() mark {
	m := mark{at: time.Now()}
	for _, w := range r.workers {
		m.answers += w.answered.Load()
	}
	if r.cfg.PID != 0 {
		m.server, m.complete = processTree(r.cfg.PID)
	}
	m.own, _ = process(os.Getpid())
	return m
}

// conduct leads the workers, which have started or are about to, through the
// phases and notes the marks at which the measured time begins and ends. CPU
// time and answers are read at the same moment, so that a late timer changes
// the time that is measured and not what is said about it.
func (r *run) conduct(ctx context.Context) {
	total := r.cfg.Warmup + r.cfg.Duration
	report := newReporter(r, total)
	if !report.until(ctx, r.began.Add(r.cfg.Warmup)) {
		r.enter(abandoned)
		return
	}
	r.from = r.mark()
	r.enter(measuring)
	end := r.began.Add(total)
	if r.cfg.Rate == 0 { // a late timer must not leave a closed loop without time
		end = r.from.at.Add(r.cfg.Duration)
	}
	if !report.until(ctx, end) {
		r.enter(abandoned)
		return
	}
	r.till = r.mark()
	r.enter(stopping)
}

// A reporter calls Config.Progress.
type reporter struct {
	run     *run
	total   time.Duration
	at      time.Time // of the last call
	answers uint64    // at the last call
}

// newReporter begins to report on a run that takes total.
func newReporter(r *run, total time.Duration) *reporter {
	return &reporter{run: r, total: total, at: r.began}
}

// until waits for a moment, reporting meanwhile, and reports whether ctx has
// not ended before.
func (p *reporter) until(ctx context.Context, end time.Time) bool {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	reached := time.NewTimer(time.Until(end))
	defer reached.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-reached.C:
			return true
		case <-tick.C:
			p.report()
		}
	}
}

// report calls Config.Progress once.
func (p *reporter) report() {
	if p.run.cfg.Progress == nil {
		return
	}
	var s Progress
	for _, w := range p.run.workers {
		s.Answers += w.answered.Load()
		s.Errors += w.failed.Load()
	}
	now := time.Now()
	s.Elapsed, s.Total = min(now.Sub(p.run.began), p.total), p.total // a tick may come late
	s.Rate = float64(s.Answers-p.answers) / now.Sub(p.at).Seconds()
	p.at, p.answers = now, s.Answers
	p.run.cfg.Progress(s)
}
