package transfer

import (
	"encoding/json"
	"strings"
)

// ownNames are members, and columns, that hotrow's exports have had from the first on,
// and others' do not have all of.
var ownNames = []string{"code", "short_url", "url", "title", "tags", "pass_query", "pass_path",
	"expired_url"}

// isOwn reports whether an entry of a file, or its heading, with these names is of
// hotrow's own export. Its links are to be what they were: what makes others' texts such
// as the server takes is not for them.
func isOwn(format Format, named func(string) bool) bool {
	switch format {
	case Hotrow:
		return true
	case Auto, CSV:
		for _, name := range ownNames {
			if !named(name) {
				return false
			}
		}
		return true
	}
	return false
}

// JoinTags returns tags as a cell of hotrow's table has them: divided by "|", or, where
// that would not be what they were when the cell is read, as a list of JSON.
func JoinTags(tags []string) string {
	cell := strings.Join(tags, "|")
	if !strings.HasPrefix(cell, "[") && strings.Count(cell, "|") == max(0, len(tags)-1) {
		return cell
	}
	var list strings.Builder
	enc := json.NewEncoder(&list)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(tags) // strings can be encoded
	return strings.TrimSpace(list.String())
}

// parseTags returns the tags that JoinTags has made a cell of. What is no list is divided
// by "|", as cells of earlier versions all are.
func parseTags(cell string) []string {
	var tags []string
	if strings.HasPrefix(cell, "[") && json.Unmarshal([]byte(cell), &tags) == nil {
		return tags
	}
	return strings.Split(cell, "|")
}
