package respfront

import (
	"strings"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
)

const (
	syntaxError   = "ERR syntax error"
	internalError = "ERR internal error, see the log"
	wrongType     = "WRONGTYPE Operation against a key holding the wrong kind of value"
	tooMuch       = "ERR the rows together are too large for one answer: ask for fewer keys at once"
	unavailable   = "UNAVAILABLE the database cannot be reached and memory has no copy"

	// loading has Redis' word, upon which clients try again.
	loading = "LOADING the tables of the database are not known yet"
)

// forbidden stands for noPermission.
const forbidden = "NOPERM"

// texts are the errors of failures by their slugs: see kv.Store.ErrorText.
var texts = map[string]string{
	"bad-body":              "ERR invalid value: ",
	"bad-key":               "ERR invalid value: ",
	"bad-header":            "ERR invalid value: ",
	"invalid-value":         "ERR invalid value: ",
	"bad-query":             "ERR invalid value: ",
	"unindexed-filter":      "ERR ",
	"ambiguous-relation":    "ERR ",
	"key-mismatch":          "ERR invalid value: ",
	"conflict":              "CONFLICT ",
	"precondition-failed":   "CONFLICT the row is not the one that was meant",
	"precondition-required": "NOPERM the resource is changed only by requests that say which row",
	"too-large":             "ERR value too large",
	"database-full":         "ERR the database has no space left",
	"try-again":             "TRYAGAIN send it again",
	"outcome-unknown":       "UNKNOWN the write may have happened: read first",
	"database-unavailable":  unavailable,
	"database-busy":         "UNAVAILABLE the database was reached, but could not do this now",
	"not-cached":            "UNAVAILABLE memory has no fresh copy",
	"not-found":             "ERR there is no such row",
	"table-missing":         "ERR the table behind the resource is not there any more",
	"internal":              internalError,
	"starting":              loading,
	"forbidden":             forbidden,
	"database-forbids":      forbidden,
	"read-only":             forbidden,
}

// errorOf returns the error of a key that has no answer. What the client is not told is
// logged.
func (f *Front) errorOf(cmd *command, found *kv.Found) string {
	res := ""
	if found.Res != nil {
		res = found.Res.Name()
	}
	if found.Err == kv.ErrAnswer {
		return tooMuch
	}
	return f.errorText(cmd, res, found.Err)
}

// errorText returns the error that a client is told of err.
func (f *Front) errorText(cmd *command, res string, err error) string {
	text := f.store.ErrorText(texts, cmd.upper, res, err)
	if text == forbidden {
		return noPermission(cmd)
	}
	return text
}

// noPermission returns the error of somebody who may not do this.
func noPermission(cmd *command) string {
	return "NOPERM this user has no permissions to run the '" + cmd.name + "' command"
}

// clip returns what a reply may repeat of what was sent.
func clip(b []byte) string {
	return strings.ToValidUTF8(string(b[:min(len(b), front.ClippedBytes)]), "?")
}
