package httpfront

import (
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// ParseDocument reads what RESOURCE/KEY, or RESOURCE alone, means where people name
// documents outside a request: as in a path, with or without its first slash. The
// key is as it was sent, for ParseKey; isDocument is false without one.
func ParseDocument(path string) (resource, key string, isDocument bool, err error) {
	var t target
	err = t.parse("/" + strings.TrimPrefix(path, "/"))
	if err == nil && t.kind != pathList && t.kind != pathDocument {
		err = problem{kind: kindBadPath, detail: "it names no resource"}
	}
	return t.name, t.key, t.kind == pathDocument, err
}

// ParseKey reads the key of a document of n key columns from its segment of a path.
func ParseKey(segment string, n int) (row.Key, error) { return parseKey(segment, n) }
