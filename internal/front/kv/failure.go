package kv

import (
	"errors"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// failureOf returns what a client is told of err.
func failureOf(err error) front.Failure {
	switch {
	case errors.Is(err, ErrForbidden):
		return front.Failure{Slug: "forbidden"}
	case errors.Is(err, ErrStarting):
		return front.Failure{Slug: "starting"}
	}
	return front.FailureOf(err)
}

// CodeOf returns the sort of a failure: one of docs/reference/errors.md, "" for none.
func CodeOf(err error) string {
	if err == nil {
		return ""
	}
	return failureOf(err).Slug
}

// ErrorText returns what a client is told of err by texts, those of a protocol by their
// slugs, of which "internal" stands for those that are missing. A text that ends with a
// blank is followed by what the client is told besides. What it is not told is logged, ten
// times a second at most: an outage must not become an outage of the log.
func (s *Store) ErrorText(texts map[string]string, command, res string, err error) string {
	of := failureOf(err)
	if of.Logged && s.logLimit.Allow(time.Now()) {
		o := s.Live()
		o.Log.Error("request failed", "proto", o.Proto, "command", command, "resource", res,
			"err", err)
	}
	text, ok := texts[of.Slug]
	switch {
	case !ok:
		return texts["internal"]
	case !strings.HasSuffix(text, " "):
		return text
	case of.Text == "":
		return text + "the database refuses it"
	}
	return text + of.Text
}
