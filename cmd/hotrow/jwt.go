package main

import (
	"context"
	"fmt"
	"reflect"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/jwt"
	"github.com/hotrow/hotrow/internal/ops"
	"github.com/hotrow/hotrow/internal/source"
)

// setJWT makes the JWTs of cfg the ones that are good, in place of those of old. Where
// nothing about them has changed their keys stay, those that were fetched too.
func (s *server) setJWT(old, cfg *config.Config) error {
	if old != nil && reflect.DeepEqual(old.Auth.JWT, cfg.Auth.JWT) {
		return nil
	}
	var next *jwt.Verifier
	if cfg.Auth.JWT.On() {
		o, _, path, err := cfg.Auth.JWT.Verifies()
		if err != nil {
			return fmt.Errorf("auth.jwt.%s: %w", path, err)
		}
		o.Fetch.Log = s.log
		if next, err = jwt.New(o); err != nil {
			return fmt.Errorf("auth.jwt: %w", err)
		}
	}
	if v := s.jwt.Swap(next); v != nil {
		v.Close()
	}
	return nil
}

// jwtSnapshot returns what is counted of JWTs; nil: there are none.
func (s *server) jwtSnapshot() *ops.JWT {
	v := s.jwt.Load()
	if v == nil {
		return nil
	}
	st := v.Stats()
	return &ops.JWT{Good: st.Good, Refused: st.Refused, Keys: st.Keys,
		Fetches: st.Fetch.Fetches, Failed: st.Fetch.Failed, Failing: st.Fetch.Failing,
		Age: st.Fetch.Age}
}

// checkJWT says what the URL of the keys of JWTs answers, if there is one.
func checkJWT(ctx context.Context, p *program, cfg *config.Config) {
	o, _, _, err := cfg.Auth.JWT.Verifies()
	if err != nil || o.URL == "" {
		return // Load has said so
	}
	n, unused, err := jwt.Look(ctx, o)
	if err != nil {
		printFinding(p, source.Finding{Level: source.LevelWarning,
			Text: "auth.jwt.jwks: " + err.Error(),
			Why:  "until it answers with keys, a request with a JWT is 503"})
		return
	}
	fmt.Fprintf(p.stdout, "auth.jwt.jwks: %d keys\n", n)
	for _, why := range unused {
		printFinding(p, source.Finding{Level: source.LevelWarning, Text: "auth.jwt.jwks: " + why,
			Why: "tokens of this key are refused"})
	}
}
