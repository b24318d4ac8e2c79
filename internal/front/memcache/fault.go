package memcachefront

import (
	"strings"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/memcache"
)

const (
	forbidden   = "CLIENT_ERROR forbidden"
	tooMuch     = "SERVER_ERROR out of memory writing get response"
	internal    = "SERVER_ERROR internal"
	unavailable = "SERVER_ERROR backend unavailable"
	starting    = "SERVER_ERROR the tables are not known yet"
	readOnly    = "SERVER_ERROR read only"
	noExpiry    = "CLIENT_ERROR rows do not expire"
	noResource  = "CLIENT_ERROR the key names no resource"
	unsupported = "CLIENT_ERROR not supported for this resource"
)

// texts are the errors of failures by their slugs: see kv.Store.ErrorText.
var texts = map[string]string{
	"bad-body":              "CLIENT_ERROR invalid value: ",
	"bad-key":               "CLIENT_ERROR invalid value: ",
	"bad-header":            "CLIENT_ERROR invalid value: ",
	"invalid-value":         "CLIENT_ERROR invalid value: ",
	"bad-query":             "CLIENT_ERROR invalid value: ",
	"unindexed-filter":      "CLIENT_ERROR ",
	"ambiguous-relation":    "CLIENT_ERROR ",
	"key-mismatch":          "CLIENT_ERROR invalid value: ",
	"precondition-required": "CLIENT_ERROR the resource is changed by cas only",
	"too-large":             memcache.TooLarge,
	"database-full":         "SERVER_ERROR out of memory storing object",
	"try-again":             "SERVER_ERROR try again",
	"outcome-unknown":       "SERVER_ERROR outcome unknown",
	"database-unavailable":  unavailable,
	"database-busy":         unavailable,
	"not-cached":            unavailable,
	"database-forbids":      forbidden,
	"forbidden":             forbidden,
	"read-only":             readOnly,
	"table-missing":         "SERVER_ERROR the table behind the resource is not there",
	"internal":              internal,
	"starting":              starting,
}

// errorOf returns the error of a key that has no answer.
func (f *Front) errorOf(cmd *memcache.Command, found *kv.Found) string {
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
func (f *Front) errorText(cmd *memcache.Command, res string, err error) string {
	return plain(f.store.ErrorText(texts, cmd.Op.String(), res, err))
}

// plain returns a text as a line may have it.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	return strings.ToValidUTF8(text[:min(len(text), front.ErrorText)], "?")
}
