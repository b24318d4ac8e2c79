package config

import (
	"fmt"
	"strings"
	"testing"
)

// A rule about rows needs a profile, JWTs and a table; it says what is wrong with it, and where.
func TestRows_TellsWhatIsWrong(t *testing.T) {
	const auth = "auth: {jwt: {secret: thirty-two bytes and some more of them}}\n"
	const profile = "http: {postgrest: {path: /rest/v1}}\n"
	for _, c := range []struct{ head, notes, want string }{
		{auth + profile, "{table: note, rows: {read: {owner: sub, team: in app_metadata.teams}, except: [admin]}}", ""},
		{auth, "{table: note, rows: {read: {owner: sub}}}", "set http.postgrest.path"},
		{profile, "{table: note, rows: {read: {owner: sub}}}", "set auth.jwt"},
		{auth + profile, "{table: note, rows: {write: {owner: sub}}}", "needs read"},
		{auth + profile, "{table: note, rows: {read: {owner: user_metadata.id}}}", "users edit"},
		{auth + profile, "{table: note, rows: {read: {owner: in user_metadata.ids}}}", "users edit"},
		{auth + profile, "{table: note, rows: {any: {owner: sub}}}", "any"},
		{auth + profile, "{table: note, rows: policies}", "rows"},
		{auth + profile, "{query: 'SELECT * FROM note WHERE id = :key', key: id, rows: {read: {owner: sub}}}",
			"is for resources of a table"},
		{auth + profile, "{table: note, warm: all, rows: {read: {owner: sub}}}", "does not go with"},
		{auth + profile, "{table: note, rows: {read: {owner: sub}}}\n" +
			"  b: {table: box, embed: {n: {table: note, on: box}}}", "has rows that not everybody may have"},
	} {
		_, _, err := Parse("hotrow.yaml", "version: 1\nsources: {main: {url: 'sqlite:a.db'}}\n"+c.head+
			"resources:\n  notes: "+c.notes+"\n", nil)
		if got := fmt.Sprint(err); (err == nil) != (c.want == "") || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%s: %v, want %q", c.notes, err, c.want)
		}
	}
}
