package memcached

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/hotrow/hotrow/internal/source"
)

// Doctor says whether the server answers, and that no feed can be had. There is
// nothing that could be applied.
func (s *Source) Doctor(
	ctx context.Context, mode source.FeedMode, _ []source.Watched,
) ([]source.Finding, error) {
	if err := checkMode(mode); err != nil {
		return nil, err
	}
	findings, err := s.look(ctx)
	if err != nil {
		f, ok := s.diagnose(err)
		if !ok || ctx.Err() != nil {
			return nil, fmt.Errorf("doctor: %w", err)
		}
		findings = []source.Finding{f}
	}
	return append(findings, source.Finding{Level: source.LevelInfo, Text: noFeed,
		Why: "a document can be as old as its ttl, and what was written by others shows then"}), nil
}

// diagnose says what mends a server that cannot be asked.
func (s *Source) diagnose(err error) (source.Finding, bool) {
	var e *source.Error
	if !errors.As(err, &e) {
		return source.Finding{}, false
	}
	f := source.Finding{Level: source.LevelError, Text: e.Message, Why: e.Hint}
	if f.Why == "" {
		f.Why = "the server has gone or hangs, or it understands no text: one that was started" +
			" with -B binary does not; start it without"
	}
	return f, true
}

// look asks the server who it is and how it is.
func (s *Source) look(ctx context.Context) ([]source.Finding, error) {
	var version string
	var stats map[string]string
	err := s.use(ctx, 2, func(c *conn) (err error) {
		if version, err = c.version(); err == nil {
			stats, err = c.stats()
		}
		return err
	}, func() bool { return true })
	if err != nil {
		return nil, err
	}
	out := []source.Finding{{Level: source.LevelOK,
		Text: fmt.Sprintf("memcached %s answers at %s", version, &s.at)}}
	evicted, err := strconv.ParseUint(stats["evictions"], 10, 64)
	if err == nil && evicted > 0 {
		out = append(out, source.Finding{Level: source.LevelWarning,
			Text: fmt.Sprintf("the server has thrown away %d values for lack of memory", evicted),
			Why: "such a document is answered as 404 although nobody deleted it; " +
				"give the server more memory (memcached -m)"})
	}
	return out, nil
}

// Check asks whether the server answers.
func (p *plan) Check(ctx context.Context) ([]source.Finding, error) {
	findings, err := p.src.look(ctx)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", p.name, err)
	}
	return findings, nil
}
