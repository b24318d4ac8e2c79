package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// blogSQL are posts with comments, which no index finds, and tags by way of a table between.
const blogSQL = `CREATE TABLE person (id int PRIMARY KEY, name varchar(20));
	CREATE TABLE article (id int PRIMARY KEY, author int, FOREIGN KEY (author) REFERENCES person (id));
	CREATE TABLE remark (id int PRIMARY KEY, article int, gone int,
		CONSTRAINT about FOREIGN KEY (article) REFERENCES article (id));
	CREATE TABLE tag (id int PRIMARY KEY, word varchar(20));
	CREATE TABLE tagged (article int, tag int, PRIMARY KEY (tag, article),
		FOREIGN KEY (article) REFERENCES article (id), FOREIGN KEY (tag) REFERENCES tag (id));`

// TestPostgres_CheckKnowsWhatListsEmbed: changes of which tables have lists read again, and
// which indexes find rows.
func TestPostgres_CheckKnowsWhatListsEmbed(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup(blogSQL))
	checkEmbeds(t, url, "public.", func(sql string) { dbtest.Psql(t, url, sql) })
	file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\nresources:\n"+
		"  articles: {table: article}\n  tags: {table: tag}\n  tagged: {table: tagged}\n", url))
	const tags = "articles?select=id,tags(word)&id=eq.1"
	text := mustCommand(t, "check", "-c", file, tags)
	for _, part := range []string{"a row of public.tagged changes that it embeds, by (article)",
		"a row of public.tag changes that it embeds, by (id)"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

func TestSQLite_CheckKnowsWhatListsEmbed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "blog.db")
	dbtest.SQLiteShell(t, file, blogSQL)
	checkEmbeds(t, "sqlite:"+file, "", func(sql string) { dbtest.SQLiteShell(t, file, sql) })
}

func checkEmbeds(t *testing.T, url, schema string, exec func(sql string)) {
	t.Helper()
	file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\nresources:\n"+
		"  people: {table: person}\n  articles: {table: article}\n  remarks: {table: remark}\n"+
		"  tags: {table: tag}\n  tagged: {table: tagged}\n", url))
	const (
		page  = "articles?select=id,people(name),remarks(id)&id=eq.1"
		tags  = "articles?select=id,tags(word)&id=eq.1"
		inner = "articles?select=id,people!inner(id)&people.name=eq.a"
	)
	wants := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("no %q in\n%s", part, text)
			}
		}
	}
	once := " once the table is large\n         "
	text := mustCommand(t, "check", "-c", file, page, tags, inner)
	wants(text, "/"+page+"\n    read again when a row changes that it finds, by (id)",
		schema+"person changes", schema+"remark changes",
		"an index finds the rows of "+schema+"person by (id), for each row",
		"info     no index finds the rows of "+schema+"remark by (article), for each row: it is refused (400)"+once+
			"mend: CREATE INDEX",
		"no index finds the rows of "+schema+"tagged by (article), for each row",
		"no index tells which rows of "+schema+"article !inner leaves out: it is refused (400)"+once+"ask for equality")
	wants(mustCommand(t, "doctor", "-c", file, "--list", inner, "--list", page),
		"/"+page+": no index finds the rows of "+schema+"remark by (article)",
		"/"+inner+": no index tells which rows")
	if code, _, text := command(t, "check", "-c", file, "articles?select=nope(id)"); code != 1 ||
		!strings.Contains(text, "nope") {
		t.Errorf("check of what cannot be embedded: exit %d, %s", code, text)
	}

	for _, line := range strings.Split(text, "\n") {
		if sql, ok := strings.CutPrefix(strings.TrimSpace(line), "mend: "); ok {
			exec(sql)
		}
	}
	exec("CREATE INDEX person_name ON person (name); CREATE INDEX article_author ON article (author)" +
		" WHERE author IS NOT NULL;")
	if text = mustCommand(t, "check", "-c", file, page, tags, inner); strings.Contains(text, "refused") {
		t.Errorf("with the indexes that it says:\n%s", text)
	}
	wants(text, "an index finds the rows of "+schema+"remark by (article)",
		"an index finds the rows of "+schema+"tagged by (article)")
}

// TestMariaDB_CheckKnowsWhatListsEmbed: there a foreign key has an index.
func TestMariaDB_CheckKnowsWhatListsEmbed(t *testing.T) {
	t.Parallel()
	file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\nresources:\n"+
		"  articles: {table: article}\n  remarks: {table: remark}\n",
		dbtest.MariaDB(t, dbtest.Setup(blogSQL))))
	text := mustCommand(t, "check", "-c", file, "articles?select=id,remarks(id)&id=eq.1")
	if !strings.Contains(text, "remark by (article), for each row") || strings.Contains(text, "refused") {
		t.Errorf("its index is not found:\n%s", text)
	}
}
