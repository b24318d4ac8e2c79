// Package config reads the YAML file that says what hotrow serves, and how:
// strict decoding in which every problem is told at once, each with its line;
// ${VARIABLES}, overrides from the environment, and the defaults.
//
// It opens no database and no socket. Only the commands import it: they turn
// what it says into what the other packages ask for.
package config

import "time"

// Config is the whole file with defaults and overrides applied.
//
// The tags of the fields are what the decoder and the reference page go by:
// oneof and range bound a value, one says that a single element may stand
// without its list, name is the placeholder of a map's keys, and apply says
// what makes a changed value count: a restart of the process or a reload.
type Config struct {
	Version   int                  `yaml:"version" oneof:"1" apply:"restart"`
	HTTP      HTTP                 `yaml:"http"`
	Wire      Wire                 `yaml:"wire"`
	RESP      RESP                 `yaml:"resp"`
	Memcache  Memcache             `yaml:"memcache"`
	KV        KV                   `yaml:"kv"`
	SQL       SQL                  `yaml:"sql"`
	Links     Links                `yaml:"links"`
	Ops       Ops                  `yaml:"ops"`
	Log       Log                  `yaml:"log" apply:"reload"`
	Trace     Trace                `yaml:"trace" apply:"restart"`
	Auth      Auth                 `yaml:"auth" apply:"reload"`
	Cache     Cache                `yaml:"cache" apply:"restart"`
	Sources   map[string]*Source   `yaml:"sources" name:"NAME" apply:"restart"`
	Resources map[string]*Resource `yaml:"resources" name:"NAME" apply:"reload"`

	doc *document // where each value came from; nil for a Config made in code
}

// HTTP is the listener that serves the resources.
type HTTP struct {
	Listen          Listener `yaml:"listen" apply:"restart"`
	Hosts           []string `yaml:"hosts" apply:"reload"`
	BasePath        string   `yaml:"base_path" apply:"restart"`
	MaxBody         Size     `yaml:"max_body" range:"1KiB..1GiB" apply:"reload"`
	ShutdownTimeout Duration `yaml:"shutdown_timeout" range:"0s..10m" apply:"reload"`
	Compression     []string `yaml:"compression" oneof:"zstd gzip" apply:"reload"`
	CacheControl    string   `yaml:"cache_control" apply:"reload"`
	Compat          string   `yaml:"compat" oneof:"none resttest" apply:"reload"`
	Postgrest       Profile  `yaml:"postgrest" apply:"reload"`
	CORS            CORS     `yaml:"cors" apply:"reload"`
	TLS             TLS      `yaml:"tls" apply:"reload"`
}

// Ops is the operator's listener.
type Ops struct {
	Listen Listener `yaml:"listen" apply:"restart"`
	Hosts  []string `yaml:"hosts" apply:"reload"`

	// PublicMetrics lets anybody read /metrics who reaches the listener.
	PublicMetrics bool `yaml:"public_metrics" apply:"reload"`
}

// Log says what is logged, and in which form.
type Log struct {
	Level        string    `yaml:"level" oneof:"debug info warn error"`
	Format       string    `yaml:"format" oneof:"text json"`
	Access       AccessLog `yaml:"access"`
	AccessFormat string    `yaml:"access_format" oneof:"json ltsv"`
	AccessFile   string    `yaml:"access_file" empty:"plain"` // "": standard output
}

// Trace says where spans are sent.
type Trace struct {
	Endpoint string `yaml:"endpoint" empty:"plain"` // "": nowhere
	Sample   int    `yaml:"sample" range:"0..1000000"`
}

// Auth says who is known.
type Auth struct {
	Tokens []Token `yaml:"tokens"`
	JWT    JWT     `yaml:"jwt"`
}

// A Token is a bearer token: only its hash is written down.
type Token struct {
	Name   string `yaml:"name"`
	SHA256 string `yaml:"sha256"` // of the token's text, in hexadecimal
	Role   string `yaml:"role"`
}

// Cache bounds what is kept in memory and behind it.
type Cache struct {
	Memory Size `yaml:"memory,omitempty" range:"1MiB..16TiB"` // 0: serve decides
	Disk   Disk `yaml:"disk"`
}

// A Source is one database.
type Source struct {
	URL              Secret   `yaml:"url"`
	Reads            Secret   `yaml:"reads,omitempty" empty:"plain"` // "": URL is read
	Pool             Pool     `yaml:"pool"`
	StatementTimeout Duration `yaml:"statement_timeout" range:"10ms..1h"`
	Feed             Feed     `yaml:"feed"`
}

// Pool bounds the connections to a database.
type Pool struct {
	Max int `yaml:"max" range:"1..10000"`
}

// Feed says how changes of a database are learnt, and what counts as fresh.
type Feed struct {
	Mode         string   `yaml:"mode" oneof:"auto logical notify binlog sqlite none"`
	Publication  string   `yaml:"publication"`
	Slot         string   `yaml:"slot" empty:"plain"`
	SlotUnbound  bool     `yaml:"slot_unbounded"`
	Failover     bool     `yaml:"failover"`
	OnLag        string   `yaml:"on_lag" oneof:"stale bypass fail"`
	StaleAfter   Duration `yaml:"stale_after" range:"100ms..1m"`
	MaxStale     Duration `yaml:"max_stale" range:"0s..24h"`
	StaleIfError Duration `yaml:"stale_if_error" range:"0s..168h"`
}

// Default returns the configuration of an empty file.
func Default() *Config {
	return &Config{
		Version: 1,
		HTTP: HTTP{
			Listen:          Listener{Network: "tcp", Address: "127.0.0.1:8080"},
			Hosts:           []string{},
			BasePath:        "/",
			MaxBody:         1 << 20,
			ShutdownTimeout: Duration(10 * time.Second),
			Compression:     []string{"zstd", "gzip"},
			CacheControl:    "no-cache",
			Compat:          "none",
			Postgrest:       Profile{Fallback: Fallback{Headers: []string{}}},
			CORS:            CORS{Origins: []Origin{}},
			TLS:             TLS{MinVersion: "1.2"},
		},
		Wire:  defaultWire(),
		KV:    defaultKV(),
		SQL:   defaultSQL(),
		Links: defaultLinks(),
		Ops: Ops{
			Listen: Listener{Network: "tcp", Address: "127.0.0.1:8081"},
			Hosts:  []string{},
		},
		Log: Log{
			Level: "info", Format: "text",
			AccessFormat: "json",
		},
		Auth:      Auth{Tokens: []Token{}, JWT: defaultJWT()},
		Cache:     Cache{Disk: defaultDisk()},
		Sources:   map[string]*Source{},
		Resources: map[string]*Resource{},
	}
}

// DefaultSource returns a source with every default and no URL.
func DefaultSource() *Source {
	s := new(Source)
	s.setDefaults()
	return s
}

// setDefaults makes s what an empty source is.
func (s *Source) setDefaults() {
	*s = Source{
		Pool:             Pool{Max: 16},
		StatementTimeout: Duration(5 * time.Second),
		Feed: Feed{
			Mode:         "auto",
			Publication:  "hotrow",
			StaleAfter:   Duration(250 * time.Millisecond),
			OnLag:        "stale",
			MaxStale:     Duration(10 * time.Second),
			StaleIfError: Duration(time.Hour),
		},
	}
}
