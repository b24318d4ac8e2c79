package stress

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
)

// TestPostgres_AnswerOfAWriteHasWhatCommitDoes: a deferred trigger changes the row at COMMIT.
// The answer of a PUT has that, its entity tag is that of the row, so another PUT may be
// made with it, and no copy of before is kept.
func TestPostgres_AnswerOfAWriteHasWhatCommitDoes(t *testing.T) {
	url := dbtest.Postgres(t)
	conn := testbed.Dial(t, url)
	testbed.MustExec(t, conn, `CREATE TABLE df (id int PRIMARY KEY, v int, n int NOT NULL DEFAULT 0);
		INSERT INTO df VALUES (1, 0, 0);
		CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			UPDATE df SET n = n + 1 WHERE id = NEW.id; RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER late AFTER UPDATE OF v ON df DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION more()`)
	s := newStand(t, url, plan{Specs: []resource.Spec{testbed.Spec("df")}, Mode: source.FeedLogical})
	c := s.connect()
	var headers []string
	for range 3 {
		for range 3 { // so that it is in memory
			if _, err := c.do("GET", "/df/1", ""); err != nil {
				t.Fatal(err)
			}
		}
		put, err := c.do("PUT", "/df/1", `{"id":1,"v":5,"n":0}`, headers...)
		if err != nil || put.code != 200 || !strings.Contains(string(put.body), `"n":1`) {
			t.Fatalf("PUT: %v, %+v", err, put)
		}
		tag := put.header.Get("ETag")
		headers = []string{"If-Match: " + tag}
		for range 5 {
			got, err := c.do("GET", "/df/1", "")
			if err != nil || string(got.body) != string(put.body) || got.header.Get("ETag") != tag {
				t.Errorf("%v: GET has %s %q, PUT had %s %q", err, got.body, got.header.Get("ETag"),
					put.body, tag)
			}
		}
	}
}
