package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A linksFill is how much a database of links is filled with: so many links, whose
// clicks fall with their number as Zipf's law says, their sums of the last 90
// days, and raw rows of this month.
type linksFill struct {
	links, clicks, raw int64
}

// Sizes of what is made. Sums by dimension are those of the last week, and of all
// days for the first links only: else they would be most of the whole.
const (
	fillDays     = 90
	fillDimDays  = 7
	fillTopLinks = 1000
	fillValues   = 20 // of each dimension
)

// fillAll fills the empty tables of the SQLite file that hotrow has made in dir,
// with raw rows of the month that it is. It returns how many bytes links, sums and
// raw rows take. Everything is made in the order of its keys: a hundred million
// rows would not be done today otherwise.
func fillAll(ctx context.Context, dir string, f linksFill) (sizes []int64, err error) {
	now := time.Now().UTC()
	day := now.Unix() / 86400
	begin := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	fill := strings.NewReplacer("$links", fmt.Sprint(f.links), "$clicks", fmt.Sprint(f.clicks),
		"$raw", fmt.Sprint(f.raw), "$days", fmt.Sprint(fillDays), "$day", fmt.Sprint(day),
		"$month", "clicks_"+now.Format("200601"), "$begin", fmt.Sprint(begin),
		"$span", fmt.Sprint(now.UnixMilli()-begin+1), "$now", fmt.Sprint(now.UnixMilli()))
	for _, part := range []string{fillLinks, fillSums(day), fillRaw} {
		began := time.Now()
		grown, err := fillPart(ctx, filepath.Join(dir, "links.db"), fill.Replace(fillSetup+part))
		if err != nil {
			return nil, err
		}
		fmt.Printf("filled %d MB in %v\n", grown>>20, time.Since(began).Round(time.Second))
		sizes = append(sizes, grown)
	}
	return sizes, nil
}

// fillSetup begins every part: the clicks of each link by Zipf's law, and numbers
// to count with.
const fillSetup = `PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -400000;
PRAGMA temp_store = MEMORY;
CREATE TEMP TABLE n (id INTEGER PRIMARY KEY, clicks INTEGER);
WITH RECURSIVE i (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM i WHERE id < $links)
	INSERT INTO n SELECT id, max(1, CAST($clicks / (ln($links) + 0.5772) / id AS INTEGER)) FROM i;
CREATE TEMP TABLE slots (j INTEGER PRIMARY KEY);
WITH RECURSIVE i (j) AS (SELECT 0 UNION ALL SELECT j + 1 FROM i WHERE j < $days * 24 - 1)
	INSERT INTO slots SELECT j FROM i;
BEGIN;
`

// fillLinks makes the links: k1, k2, ... and their totals. What the first click has
// left goes.
const fillLinks = `DELETE FROM links;
DELETE FROM link_stats;
DELETE FROM click_time;
DELETE FROM click_sketches;
DELETE FROM click_dims;
INSERT INTO links (id, code, url, url_hash, created_at, updated_at)
	SELECT id, 'k' || id, 'https://www.example.com/articles/2026/' || id || '?utm_source=bench',
	randomblob(16), $now - ($links - id) * 1000, $now - ($links - id) * 1000 FROM n;
INSERT INTO link_stats SELECT -1, sum(clicks), sum(clicks) / 15, $now - 7776000000, $now FROM n;
INSERT INTO link_stats SELECT id, clicks, clicks / 15, $now - 7776000000, $now FROM n;
COMMIT;
`

// fillSums makes click_time and click_dims. A bucket has its share of the link's
// clicks, and a sketch of as many visitors.
func fillSums(day int64) string {
	var b strings.Builder
	b.WriteString(`CREATE TEMP TABLE units (unit TEXT PRIMARY KEY, slots INTEGER, last INTEGER)
	WITHOUT ROWID;
INSERT INTO units VALUES ('d', $days, $day), ('h', $days * 24, $day * 24 + 23);
CREATE TEMP TABLE sketches (least INTEGER PRIMARY KEY, hll BLOB);
`)
	for _, size := range []int{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512} {
		hll := "X'01" // the first 32 bits of each visitor's hash, little-endian, rising
		for i := range size {
			n := uint32(i+1) * (1<<32/513 - 1)
			hll += fmt.Sprintf("%02x%02x%02x%02x", byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
		}
		fmt.Fprintf(&b, "INSERT INTO sketches VALUES (%d, %s');\n", size, hll)
	}
	fmt.Fprintf(&b, "INSERT INTO sketches VALUES (513, X'02%s');\n", strings.Repeat("41", 3072))
	b.WriteString(`INSERT INTO click_time (link_id, unit, bucket, clicks, bots, visitors)
	SELECT n.id, u.unit, u.last - min(n.clicks, u.slots) + 1 + s.j,
	max(1, n.clicks / u.slots), n.clicks / u.slots / 15, max(1, n.clicks / u.slots)
	FROM (SELECT -1 AS id, sum(clicks) AS clicks FROM n UNION ALL SELECT * FROM n) n
	CROSS JOIN units u CROSS JOIN slots s WHERE s.j < min(n.clicks, u.slots);
INSERT INTO click_sketches (link_id, unit, bucket, hll)
	SELECT n.id, u.unit, u.last - min(n.clicks, u.slots) + 1 + s.j,
	(SELECT hll FROM sketches WHERE least <= max(1, n.clicks / u.slots)
		ORDER BY least DESC LIMIT 1)
	FROM (SELECT -1 AS id, sum(clicks) AS clicks FROM n UNION ALL SELECT * FROM n) n
	CROSS JOIN units u CROSS JOIN slots s WHERE s.j < min(n.clicks, u.slots);
COMMIT;
BEGIN;
CREATE TEMP TABLE vals (dim INTEGER, v INTEGER, value TEXT, PRIMARY KEY (dim, v)) WITHOUT ROWID;
`)
	names := map[int][]string{1: {"(direct)", "news.ycombinator.com", "www.google.com"},
		2: {"DE", "US", "FR"}, 3: {"Chrome", "Safari", "Firefox"}, 4: {"Android", "Windows", "iOS"},
		5: {"mobile", "desktop", "tablet"}}
	for dim := 1; dim <= 5; dim++ {
		list := slices.Clone(names[dim])
		for i := len(list); i < fillValues; i++ {
			list = append(list, fmt.Sprintf("value-%02d", i))
		}
		slices.Sort(list)
		for v, name := range list {
			fmt.Fprintf(&b, "INSERT INTO vals VALUES (%d, %d, '%s');\n", dim, v, name)
		}
	}
	fmt.Fprintf(&b, `CREATE TEMP TABLE dims (dim INTEGER PRIMARY KEY);
INSERT INTO dims VALUES (1), (2), (3), (4), (5);
INSERT INTO click_dims SELECT n.id, %[1]d - n.slots + 1 + s.j, v.dim, v.value,
	max(1, n.clicks / $days / %[2]d)
	FROM (SELECT id, clicks, min(clicks, CASE WHEN id <= %[3]d THEN $days ELSE %[4]d END) AS slots
		FROM (SELECT -1 AS id, sum(clicks) AS clicks FROM n UNION ALL SELECT * FROM n)) n
	CROSS JOIN slots s CROSS JOIN dims d CROSS JOIN vals v
	WHERE s.j < n.slots AND v.dim = d.dim AND v.v < max(1, n.clicks / $days);
COMMIT;
`, day, fillValues, fillTopLinks, fillDimDays)
	return b.String()
}

// fillRaw makes raw rows, of links by the same law, in the order of time.
const fillRaw = `INSERT INTO click_agents (hash, ua, browser, os, device, bot)
	SELECT randomblob(16),
	'Mozilla/5.0 (X11; Linux x86_64; rv:' || j || '.0) Gecko/20100101 Firefox/' || j || '.0',
	'Firefox', 'Linux', 'desktop', 0 FROM slots WHERE j < 2000;
INSERT INTO click_refs (hash, referrer, host) SELECT randomblob(16),
	'https://www.example.org/page/' || j, 'www.example.org' FROM slots WHERE j < 2000;
INSERT INTO $month (seq, link_id, at, kind, ip, country, visitor, agent_id, ref_id)
	WITH RECURSIVE i (j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM i WHERE j < $raw)
	SELECT (63 << 47) + j * 28, CAST(exp(ln($links) * (random() & 1048575) / 1048576.0) AS INTEGER),
	$begin + CAST(1.0 * $span * j / $raw AS INTEGER), CASE WHEN j % 15 = 0 THEN 1 ELSE 0 END,
	randomblob(4), 'DE', random(), 1 + abs(random() % 2000),
	CASE WHEN j % 3 = 0 THEN NULL ELSE 1 + abs(random() % 2000) END FROM i;
COMMIT;
`

// fillPart runs a part of the script, and returns how many bytes the file has
// grown by.
func fillPart(ctx context.Context, file, script string) (int64, error) {
	shell, err := look("sqlite3")
	if err != nil {
		return 0, err
	}
	before, err := pagesOf(ctx, file)
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, shell, "-bail", file)
	cmd.Stdin, cmd.Dir = strings.NewReader(script), filepath.Dir(file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("fill the database: %w: %.500s", err, out)
	}
	after, err := pagesOf(ctx, file)
	return after - before, err
}

// pagesOf returns the bytes of a file's pages that are in use.
func pagesOf(ctx context.Context, file string) (int64, error) {
	return countBy(ctx, "sqlite3", file, "SELECT (page_count - freelist_count) * page_size FROM "+
		"pragma_page_count(), pragma_freelist_count(), pragma_page_size()")
}
