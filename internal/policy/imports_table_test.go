package policy

// A room is one package and what it may know.
type room struct {
	dir   string   // from the root
	knows []string // packages of ours that it may import, without "internal/"
	heavy []string // heavy third-party modules that live here and below, and nowhere else
	tests []string // what its tests, or all of a tool, may import besides: ours, or heavy modules
	tool  bool     // serves tests and operators: only test files and mains import it
}

// house is the picture of ARCHITECTURE.md as a table. Data goes from the first
// line to the last: a package imports only packages on lines below its own.
// Changes come back upwards through the interfaces that the lower one declares.
// It lists exactly the packages that exist.
var house = []room{
	{
		dir: "cmd/hotrow",
		knows: []string{"config", "demo", "load", "webpage", "ops", "proxy",
			"front/http", "front/wire", "front/resp", "front/memcache", "front/sql", "front/kv", "front", "admit",
			"sqlcache", "openapi",
			"httpserve", "httprule", "accesslog", "jwt", "fallback", "resource", "hotkeys", "trace", "tier", "source",
			"source/sqlite", "source/postgres", "source/mysql",
			"source/memcached", "row", "workers", "supervisor", "links/transfer", "front/links", "links", "links/api",
			"links/page", "links/clicklog", "links/clicks", "links/schema"},
		heavy: []string{"github.com/spf13/cobra", "github.com/spf13/pflag",
			"github.com/KimMachineGun/automemlimit", "golang.org/x/term"},
		tests: []string{"browsertest", "client", "dbtest", "restart", "tlstest", "client/wire/gofast",
			"client/wire/rows", "github.com/goccy/go-yaml"},
	},
	{
		dir: "internal/testbed",
		knows: []string{"waittest", "front/http", "httpserve", "resource", "tier", "source", "source/sqlite",
			"source/postgres", "source/mysql"},
		tests: []string{"dbtest", "fallback", "github.com/jackc/pgx", "github.com/go-sql-driver/mysql"},
		tool:  true,
	},
	{
		dir:   "internal/stress",
		knows: []string{"dbtest", "resource", "fresh", "source", "source/sqlite", "source/postgres", "row"},
		heavy: []string{"github.com/Shopify/toxiproxy"},
		tests: []string{"testbed", "linear", "client", "front/wire", "query", "github.com/jackc/pgx",
			"github.com/go-sql-driver/mysql"},
		tool: true,
	},
	{
		dir: "internal/stress/lists",
		tests: []string{"testbed", "dbtest", "resource", "source", "source/sqlite", "tier", "row", "query",
			"github.com/jackc/pgx"},
		tool: true,
	},
	{dir: "internal/clients", tests: []string{"programtest"}, tool: true},
	{dir: "internal/memlimit", tests: []string{"dbtest", "programtest"}, tool: true},
	{dir: "internal/programtest", knows: []string{"dbtest", "waittest"}, tool: true},
	{dir: "internal/packagetest", tests: []string{"dbtest"}},
	{
		dir:   "internal/restart/ask",
		knows: []string{"restart"},
		tool:  true,
	},
	{
		dir:   "internal/restart",
		knows: []string{"client"},
		tool:  true,
	},
	{
		dir: "internal/writeback",
		tests: []string{"dbtest", "front/http", "front/sql", "resource", "tier", "source", "source/sqlite",
			"source/postgres", "source/mysql", "row", "github.com/jackc/pgx",
			"github.com/go-sql-driver/mysql", "modernc.org/sqlite"},
	},
	{
		dir:   "client",
		knows: []string{"client/wire", "client/wire/rows"},
		heavy: []string{"github.com/vmihailenco/msgpack"},
	},
	{
		dir:   "internal/fresh/mutants",
		knows: []string{},
		tool:  true,
	},
	{
		dir:   "internal/config",
		knows: []string{"resource", "source", "tier", "row", "jwt", "fallback"},
		heavy: []string{"github.com/goccy/go-yaml"},
		tests: []string{"tlstest"},
	},
	{
		dir:   "bench",
		knows: []string{"bench/harness", "bench/scenarios", "bench/tiers", "bench/wirebench", "client/wire"},
		tool:  true,
	},
	{
		dir:   "bench/ask",
		knows: []string{"bench/load"},
		tool:  true,
	},
	{
		dir:   "bench/memory",
		knows: []string{"bench/harness", "bench/load"},
		tool:  true,
	},
	{
		dir:   "bench/scenarios",
		knows: []string{"bench/harness", "bench/servers", "bench/tiers", "demo", "bench/load", "bench/wirebench"},
		tool:  true,
	},
	{
		dir:   "bench/servers",
		knows: []string{"bench/harness", "bench/tiers", "demo"},
		tool:  true,
	},
	{
		dir:   "bench/harness",
		knows: []string{"bench/plot", "bench/load", "demo"},
		tool:  true,
	},
	{
		dir:   "bench/plot",
		knows: []string{"bench/load"},
		tool:  true,
	},
	{
		dir:   "bench/tiers",
		knows: []string{"bench/load", "tier", "row"},
		tool:  true,
	},
	{
		dir:   "bench/wirebench",
		knows: []string{"bench/load", "client/wire", "client/wire/rows"},
		tool:  true,
	},
	{
		dir:   "bench/load",
		knows: []string{"eventloop/nonblock"},
		tests: []string{"dbtest"},
		tool:  true,
	},
	{
		dir:   "internal/demo",
		knows: []string{"source/sqlite"},
		tests: []string{"config", "dbtest", "source", "source/postgres", "row"},
	},
	{
		dir:   "internal/ops",
		knows: []string{"httprule", "webpage"},
		heavy: []string{"github.com/prometheus/client_golang"},
		tests: []string{"browsertest", "dbtest", "htmltest", "source/sqlite", "row",
			"github.com/prometheus/client_model", "github.com/prometheus/common"},
	},
	{dir: "internal/load", tests: []string{"waittest"}},
	{
		dir:   "internal/proxy",
		knows: []string{"accesslog", "admit", "eventloop/nonblock", "trace", "wire/http1"},
		tests: []string{"dbtest", "tlstest", "golang.org/x/net/http2"},
	},
	{dir: "internal/supervisor", heavy: []string{"github.com/coreos/go-systemd"}},
	{
		dir:   "internal/robust",
		tests: []string{"dbtest", "github.com/jackc/pgx", "github.com/go-sql-driver/mysql"},
	},
	{dir: "internal/pictures",
		tests: []string{"browsertest", "dbtest"}},
	{dir: "internal/pages",
		tests: []string{"browsertest", "dbtest", "programtest", "tlstest"}, tool: true},
	{
		dir:   "internal/apps",
		tests: []string{"dbtest", "github.com/jackc/pgx", "github.com/go-sql-driver/mysql"},
	},
	{
		dir: "internal/front/links",
		knows: []string{"front", "httpserve", "httprule", "accesslog", "workers", "eventloop",
			"links/clicklog", "wire/http1", "resource", "source", "row"},
		tests: []string{"admit", "dbtest", "front/fronttest", "source/sqlite", "source/postgres",
			"source/mysql", "tier"},
	},
	{
		dir: "internal/links/api",
		knows: []string{"front", "httprule", "links", "links/clicklog", "links/clicks",
			"links/transfer", "source", "row"},
		heavy: []string{"github.com/golang-jwt/jwt", "golang.org/x/crypto"},
		tests: []string{"links/schema", "source/sqlite", "github.com/getkin/kin-openapi"},
	},
	{
		dir:   "internal/links",
		knows: []string{"links/clicks", "links/schema", "source", "row"},
		heavy: []string{"golang.org/x/net/idna"},
		tests: []string{"dbtest", "source/sqlite", "source/postgres", "source/mysql"},
	},
	{
		dir: "internal/front/http",
		knows: []string{"explore", "openapi", "webpage", "front", "fallback", "jwt", "httpserve", "httprule",
			"accesslog", "trace", "workers",
			"eventloop", "wire/http1", "resource", "source", "query", "row"},
		tests: []string{"admit", "dbtest", "front/fronttest", "tlstest", "source/sqlite",
			"source/postgres", "fresh",
			"tier", "wire/http2", "github.com/klauspost/compress", "github.com/vmihailenco/msgpack"},
	},
	{
		dir:   "internal/explore",
		knows: []string{"webpage"},
		tests: []string{"browsertest", "front/fronttest", "front/http", "httpserve", "resource", "source"},
	},
	{
		dir: "internal/front/wire",
		knows: []string{"front", "accesslog", "admit", "workers", "eventloop", "client/wire/gofast",
			"client/wire/rows", "resource", "query", "source", "row"},
		tests: []string{"front/fronttest", "source/sqlite", "tier", "tlstest", "wiretest"},
	},
	{
		dir:   "internal/front/resp",
		knows: []string{"front/kv", "front", "eventloop", "wire/resp", "resource", "source", "row"},
		tests: []string{"accesslog", "admit", "dbtest", "front/fronttest", "tlstest"},
	},
	{
		dir:   "internal/front/memcache",
		knows: []string{"front/kv", "front", "eventloop", "wire/memcache", "resource", "source", "row"},
		tests: []string{"admit", "dbtest", "front/fronttest", "tlstest"},
	},
	{
		dir:   "internal/front/sql",
		knows: []string{"front", "admit", "workers", "sqlcache", "sqlread", "eventloop"},
		tests: []string{"dbtest", "tlstest", "waittest", "source/postgres", "github.com/jackc/pgx"},
	},
	{dir: "internal/openapi", knows: []string{"source", "query", "row"}},
	{
		dir:   "internal/sqlcache",
		knows: []string{"front", "sqlread", "resource", "fresh", "source", "query", "row", "tier"},
		tests: []string{"dbtest", "tlstest", "front/sql", "source/postgres", "linear",
			"github.com/jackc/pgx"},
	},
	{
		dir: "internal/front/kv",
		knows: []string{"front", "accesslog", "admit", "workers", "eventloop", "query", "resource",
			"source", "row"},
		tests: []string{"front/fronttest"},
	},
	{
		dir: "internal/front/fronttest",
		knows: []string{"front", "admit", "eventloop", "resource", "tier", "source", "source/sqlite",
			"row"},
		tool: true,
	},
	{
		dir:   "internal/httpserve",
		knows: []string{"httpserve/h2", "front", "admit", "eventloop", "wire/http1", "wire/http2"},
		tests: []string{"tlstest"},
	},
	{
		dir:   "internal/httpserve/h2",
		knows: []string{"front", "eventloop", "wire/http1", "wire/http2"},
		tests: []string{"tlstest", "golang.org/x/net/http2"},
	},
	{dir: "internal/fallback", tests: []string{"waittest"}},
	{dir: "internal/jwt", tests: []string{"github.com/golang-jwt/jwt"}},
	{dir: "internal/httprule", knows: []string{"front"}},
	{
		dir:   "internal/front",
		knows: []string{"accesslog", "admit", "eventloop", "resource", "source", "query", "row"},
	},
	{
		dir:   "internal/links/page",
		knows: []string{"webpage", "links/qr", "links/transfer"},
		heavy: []string{"github.com/a-h/templ"},
		tests: []string{"browsertest", "dbtest", "htmltest"},
	},
	{
		dir: "internal/webpage",
	},
	{
		dir:   "internal/links/qr",
		heavy: []string{"github.com/skip2/go-qrcode"},
		tests: []string{"dbtest"},
	},
	{
		dir: "internal/links/transfer",
	},
	{
		dir:   "internal/links/clicks",
		knows: []string{"links/clicklog", "links/schema", "source"},
		heavy: []string{"github.com/mileusna/useragent"},
		tests: []string{"dbtest", "links/killtest", "source/sqlite", "source/postgres",
			"source/mysql"},
	},
	{dir: "internal/links/clicklog", tests: []string{"links/killtest"}},
	{dir: "internal/links/killtest", tool: true},
	{
		dir:   "internal/links/schema",
		knows: []string{"source"},
		tests: []string{"dbtest", "source/sqlite", "source/postgres", "source/mysql"},
	},
	{
		dir: "internal/accesslog",
	},
	{
		dir:   "internal/eventloop",
		knows: []string{"admit", "eventloop/nonblock", "workers"},
		tests: []string{"tlstest", "wire/http1"},
	},
	{
		dir: "internal/eventloop/nonblock",
	},
	{
		dir: "internal/admit",
	},
	{
		dir:   "internal/wire/http2",
		knows: []string{"wire/http1"},
		heavy: []string{"golang.org/x/net/http/httpguts", "golang.org/x/net/http2"},
	},
	{dir: "internal/wire/http1", knows: []string{}},
	{
		dir: "internal/wire/resp",
	},
	{dir: "internal/wire/memcache", tests: []string{"dbtest"}},
	{dir: "client/wire", knows: []string{"client/wire/gofast"}},
	{
		dir: "client/wire/gofast",
		// Its zstd is that of row, by the same module.
		heavy: []string{"github.com/klauspost/compress/zstd"},
	},
	{dir: "client/wire/rows", knows: []string{"client/wire/cbor"}},
	{
		dir: "client/wire/cbor",
	},
	{
		dir:   "internal/resource",
		knows: []string{"workers", "fresh", "hotkeys", "tier", "source", "query", "row"},
		tests: []string{"dbtest", "source/sqlite", "source/postgres"},
	},
	{dir: "internal/fresh", knows: []string{"arena", "row"}},
	{
		dir: "internal/hotkeys",
	},
	{dir: "internal/trace", heavy: []string{"go.opentelemetry.io/otel"}},
	{
		dir:   "internal/tier/tiertest",
		knows: []string{"tier", "row"},
		tool:  true,
	},
	{
		dir:   "internal/tier",
		knows: []string{"arena", "row"},
		heavy: []string{"go.etcd.io/bbolt"},
		tests: []string{"tier/tiertest"},
	},
	{
		dir: "internal/arena",
	},
	{
		dir:   "internal/source/sqlite",
		knows: []string{"source/document", "source", "query", "row"},
		heavy: []string{"modernc.org/sqlite"},
		tests: []string{"dbtest", "source/sourcetest"},
	},
	{
		dir: "internal/source/postgres",
		knows: []string{"source/postgres/logical", "source/postgres/notify", "source/postgres/feed",
			"source/postgres/catalog", "source/document", "source", "query", "row"},
		heavy: []string{"github.com/jackc/pgx", "github.com/jackc/puddle"},
		tests: []string{"dbtest", "source/sourcetest", "github.com/Shopify/toxiproxy"},
	},
	{
		dir:   "internal/source/postgres/logical",
		knows: []string{"source/postgres/feed", "source/postgres/catalog", "source"},
		tests: []string{"dbtest"},
	},
	{
		dir:   "internal/source/postgres/notify",
		knows: []string{"source/postgres/feed", "source/postgres/catalog", "source"},
		tests: []string{"dbtest", "source/sourcetest"},
	},
	{
		dir:   "internal/source/postgres/feed",
		knows: []string{"source/postgres/catalog", "source", "row"},
		tests: []string{"dbtest"},
	},
	{dir: "internal/source/postgres/catalog", knows: []string{"source"}},
	{
		dir: "internal/source/mysql",
		knows: []string{"source/mysql/binlog", "source/mysql/catalog", "source/document", "source",
			"query", "row"},
		heavy: []string{"github.com/go-sql-driver/mysql"},
		tests: []string{"dbtest", "tlstest", "source/sourcetest", "github.com/Shopify/toxiproxy"},
	},
	{
		dir:   "internal/source/mysql/binlog",
		knows: []string{"source/mysql/catalog", "source", "row"},
		heavy: []string{"github.com/go-mysql-org/go-mysql"},
		tests: []string{"dbtest", "source/sourcetest", "source/mysql"},
	},
	{dir: "internal/source/mysql/catalog", knows: []string{"source", "row"}},
	{dir: "internal/source/document", knows: []string{"source", "query", "row"}},
	{
		dir:   "internal/source/memcached",
		knows: []string{"source", "query", "row"},
		tests: []string{"dbtest"},
	},
	{
		dir:   "internal/source/sourcetest",
		knows: []string{"source", "query", "row"},
		tool:  true,
	},
	{dir: "internal/source", knows: []string{"query", "row"}},
	{
		dir: "internal/workers",
	},
	{dir: "internal/sqlread", tests: []string{"dbtest", "github.com/jackc/pgx"}},
	{dir: "internal/query", knows: []string{"row"}},
	{
		dir:   "internal/row",
		heavy: []string{"github.com/tinylib/msgp", "github.com/klauspost/compress"},
		tests: []string{"github.com/vmihailenco/msgpack"},
	},
	{
		dir:   "internal/browsertest",
		knows: []string{"dbtest", "waittest"},
		heavy: []string{"github.com/chromedp/chromedp", "github.com/chromedp/cdproto"},
		tool:  true,
	},
	{
		dir:   "internal/htmltest",
		heavy: []string{"golang.org/x/net/html"},
		tool:  true,
	},
	{
		dir:   "internal/dbtest",
		knows: []string{"waittest"},
		tool:  true,
	},
	{
		dir:   "internal/linear",
		knows: []string{"waittest"},
		heavy: []string{"github.com/anishathalye/porcupine"},
		tool:  true,
	},
	{dir: "internal/tlstest", tool: true},
	{dir: "internal/waittest", tool: true},
	{
		dir:   "internal/wiretest",
		tests: []string{"client/wire", "client/wire/gofast"},
		tool:  true,
	},
	{dir: "internal/policy", tests: []string{"golang.org/x/mod", "golang.org/x/tools/go/packages"}},
}

// light lists third-party modules that any package may import: small, and no
// choice that could be made differently elsewhere.
var light = []string{
	"golang.org/x/sync",
	"golang.org/x/sys",
	"github.com/cespare/xxhash/v2",
	"github.com/fxamacker/cbor/v2", // in the protocol, and among the formats of documents
}

// lightTools lists what serves tests and any test may import: it knows nothing of ours.
var lightTools = []string{"waittest"}

// lightTests lists those that any test may import.
var lightTests = []string{
	"github.com/google/go-cmp",
	"github.com/rogpeppe/go-internal",
	"go.uber.org/goleak",
	"pgregory.net/rapid",
}
