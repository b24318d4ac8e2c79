package writeback

// unwritable is why a type has no samples.
const (
	noInput  = "its input function takes nothing"
	internal = "a type of an index's own"
)

// text are samples of types that hold any text.
var text = plain(`'abc'`, `'a"b\c'`, `'''; --'`, `'NULL'`, `'null'`, `'{1,2}'`, `E'\n\t\x01'`,
	`'ä€'`, `U&'\+01F600'`, `' a '`, `'a,b'`, `'%2C%'`, `'a/b?c#d&e=f'`, `'\x41'`, `'+'`, `'a;b:c'`,
	`U&'\FFFD'`, `U&'\2028'`, `'[1]'`, `'"'`)

// empty is a text that cannot be a key, and dots are what everybody on the way may
// take out of a path.
var (
	empty = value{sql: `''`, noPath: "a document has a key"}
	dots  = []value{{sql: `'.'`, noPath: "dot segments"}, {sql: `'..'`, noPath: "dot segments"}}
)

// with returns samples and more of them.
func with(values []value, more ...value) []value {
	return append(values[:len(values):len(values)], more...)
}

// of returns a type with samples of which nothing is special.
func of(sql ...string) columnType { return columnType{values: plain(sql...)} }

// jsonValues are values that json and jsonb hold.
var jsonValues = plain(`'{}'`, `'[]'`, `'true'`, `'false'`, `'0'`, `'1'`, `'-1'`, `'9007199254740993'`,
	`'18446744073709551615'`, `'-9223372036854775808'`, `'0.5'`, `'""'`, `'"x"'`, `'"1"'`, `'"null"'`,
	`'"a\"b\\c\n\u0001"'`, `'"ä€😀"'`, `'[1,[2,[3]],null]'`, `'[[1,2],[3,4]]'`, `'["1","true","null"]'`,
	`'{"a":null,"b":[{"c":"d"}]}'`, `'"{1,2}"'`, `'"2024-01-01"'`, `'"NaN"'`)

// binary are the formats that have no text of a number.
const binary = "msgpack cbor"

// jsonNull is the JSON text null, which a document has as it has NULL.
var jsonNull = value{sql: `'null'`, inPlace: "json msgpack cbor"}

// jsonLossy are values of which MessagePack and CBOR cannot hold all.
var jsonLossy = []value{
	jsonNull,
	{sql: `'1.10'`, inPlace: binary}, {sql: `'[1.0, 2.50]'`, inPlace: binary},
	{sql: `'1e400'`, inPlace: binary}, {sql: `'{"n":-1E-400}'`, inPlace: binary},
	{sql: `'3.14159265358979323846264338327950288'`, inPlace: binary},
	{sql: `'18446744073709551616'`, inPlace: binary},
	{sql: `'{"bb":1,"a":2,"c":[1e999]}'`, inPlace: binary},
	{sql: `('"' || repeat('x', 70000) || '"')::json`},
	{sql: `(repeat('[', 20) || repeat(']', 20))::json`},
	{sql: `(repeat('[', 40) || repeat(']', 40))::json`, refused: "nested too deeply"},
	{sql: `('[0' || repeat(',0', 70000) || ']')::json`, refused: "too many"},
}

// moments are days that a date and a timestamp have in common.
var moments = plain(`'2024-02-29'`, `'0001-01-01'`, `'9999-12-31'`, `'10000-01-01'`, `'12024-02-29'`,
	`'0044-03-15 BC'`, `'0001-12-31 BC'`, `'infinity'`, `'-infinity'`, `'2000-01-01'`, `'1999-12-31'`)

// times are those of timestamps.
var times = with(moments, plain(`'1981-06-09 01:02:03.000004'`, `'1969-12-31 23:59:59.999999'`,
	`'294276-12-31 23:59:59.999999'`, `'4714-11-24 00:00:00 BC'`, `'4713-01-01 12:34:56.5 BC'`,
	`'2016-12-31 23:59:60'`, `'2024-03-31 02:30:00'`)...)

// postgresSamples are the samples of each type but the arrays, which are made of
// those of their elements.
var postgresSamples = map[string]columnType{
	"boolean":  of(`true`, `false`),
	"smallint": of(`0`, `7`, `-32768`, `32767`),
	"integer":  of(`0`, `7`, `-2147483648`, `2147483647`),
	"bigint":   of(`0`, `9007199254740993`, `-9223372036854775808`, `9223372036854775807`),
	"oid":      of(`0`, `4294967295`),
	"real": of(`0`, `'-0'`, `0.1`, `3.4028235e38`, `1e-45`, `-1.17549435e-38`, `16777217`, `'NaN'`,
		`'Infinity'`, `'-Infinity'`, `1e21`, `1e-7`),
	"double precision": of(`0`, `'-0'`, `0.1`, `1.7976931348623157e308`, `5e-324`, `1e21`, `1e-7`,
		`9007199254740993`, `'NaN'`, `'Infinity'`, `'-Infinity'`, `0.30000000000000004`),
	"numeric": of(`0`, `'0.00'`, `-1.50`, `1e20`, `123456789012345678901234567890.123456789`,
		`'1e-1000'`, `'1e1500'`, `'NaN'`, `'Infinity'`,
		`'-Infinity'`, `0.1`, `100`),
	"money": of(`0`, `'1234.56'`, `'-92233720368547758.08'`, `'0.01'`),

	"text":              {values: with(with(text, empty), dots...)},
	"character varying": {column: "varchar(20)", values: with(with(text, empty), dots...)},
	"character":         {column: "char(5)", values: plain(`'ab'`, `'abcde'`, `''`, `'ä'`, `' '`, `'"\'`)},
	"name": {values: with(with(text, empty), value{sql: `repeat('n', 63)`},
		value{sql: `repeat('ä', 31)`})},
	`"char"`: {values: with(plain(`'c'`, `' '`, `','`, `'"'`, `'\'`, `'{'`), empty,
		value{sql: `(-56)::"char"`})},
	"citext": {values: with(plain(`'Foo'`, `'ÄÖ'`, `'a,"b'`), empty)},
	"bytea": {values: with(plain(`'\x00'`, `'\x00ff10'`, `'\x5c'`, `'abc'`, `'\x7b7d2c22'`),
		value{sql: `''`, noPath: "a document has a key"})},
	"xml":       of(`'<a/>'`, `'<a b="c">&amp;''</a>'`, `'<?xml version="1.0"?><a/>'`, `'text'`, `''`),
	"refcursor": {values: plain(`'cur'`, `''`), show: "%s::text"},

	"date": {values: with(moments, plain(`'4714-11-24 BC'`, `'5874897-12-31'`)...)},
	"time without time zone": of(`'00:00'`, `'04:05:06.789'`, `'24:00'`, `'23:59:59.999999'`,
		`'12:34:56.000001'`),
	"time with time zone": of(`'04:05:06+02'`, `'04:05:06.5-03:30'`, `'04:05:06Z'`,
		`'04:05:06+01:02:03'`, `'24:00:00-15:59:59'`, `'00:00:00+15:59:59'`, `'12:00-00:00:01'`,
		`'04:05:06.000001+00:00:59'`, `'04:05:06-00:30'`),
	"timestamp without time zone": {values: times},
	"timestamp with time zone": {values: with(times, plain(`'2024-01-01 01:00:00+02'`,
		`'0044-03-15 12:00:00+00 BC'`, `'1883-11-18 12:00:00-04:56:02'`)...)},
	"interval": of(`'1 year 2 days 03:04:05.5'`, `'0'`, `'-1 mon +1 day -00:00:01'`,
		`'178000000 years'`, `'1 day'`, `'24:00'`, `'30 days'`, `'0.000001'`),
	"uuid": of(`'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'`, `'00000000-0000-0000-0000-000000000000'`),

	"json": {values: with(with(jsonValues, jsonLossy...),
		value{sql: `'{"b" : 1,  "a":[true]}'`, inPlace: binary},
		value{sql: `'{"a":1,"a":2}'`, refused: "twice", refusedIn: "json msgpack", inPlace: "cbor"},
		value{sql: `'"\ud800"'`, refused: "surrogate", refusedIn: "json", inPlace: binary},
		value{sql: `'-0'`}, value{sql: `'-0.0'`, inPlace: binary},
		value{sql: `'"\u0000"'`}, value{sql: `'"\/\u00e4"'`, inPlace: binary},
		value{sql: `E' [1 ,\n2]\n'`, inPlace: "json " + binary})},
	"jsonb":    {noKey: "cannot be a key", values: with(jsonValues, jsonLossy...)},
	"jsonpath": of(`'$.a[*] ? (@ > 1)'`, `'strict $."b c"'`),

	"inet": of(`'10.0.0.1'`, `'10.0.0.1/8'`, `'10.0.0.1/32'`, `'::1'`, `'2001:db8::/32'`,
		`'::ffff:1.2.3.4/128'`, `'0.0.0.0/0'`),
	"cidr":     of(`'10.0.0.0/8'`, `'10.0.0.1/32'`, `'::/0'`, `'2001:db8::1/128'`),
	"macaddr":  of(`'08:00:2b:01:02:03'`),
	"macaddr8": of(`'08:00:2b:01:02:03:04:05'`),

	"point":       of(`'(1,2)'`, `'(0.1,-1e300)'`, `'(NaN,Infinity)'`, `'(-0,0)'`),
	"line":        of(`'{1,2,3}'`, `'{-1,0,0.1}'`),
	"lseg":        of(`'[(1,2),(3,4)]'`),
	"box":         of(`'(3,4),(1,2)'`, `'(0.1,1e300),(-0.1,0)'`),
	"path":        of(`'[(1,2),(3,4)]'`, `'((1,2),(3,4),(0,0))'`),
	"polygon":     of(`'((1,2),(3,4),(0,0))'`),
	"circle":      of(`'<(1,2),3>'`),
	"bit":         {column: "bit(3)", values: plain(`B'101'`, `B'000'`)},
	"bit varying": {values: with(plain(`B'1'`, `B'0101010101'`), value{sql: `B''`, noPath: "has a key"})},

	"tsvector": {values: with(plain(`'a b'`, `'''it''''s'':1A,2 "q"'`), empty)},
	"tsquery":  {values: with(plain(`'a & !b'`, `'''it''''s'':*A | (b <2> c)'`), empty)},

	"int4range":       of(`'[1,5)'`, `'empty'`, `'(,5)'`, `'(,)'`),
	"int8range":       of(`'[1,5)'`, `'empty'`),
	"numrange":        of(`'[1.50,5)'`, `'(,5.0]'`, `'[NaN,NaN]'`),
	"tsrange":         of(`'[2024-01-01,2024-01-02 00:00:00.5)'`, `'[-infinity,)'`, `'["0044-03-15 BC",)'`),
	"tstzrange":       of(`'[2024-01-01 00:00:00+02,2024-01-02 00:00:00+00)'`, `'[,infinity]'`),
	"daterange":       of(`'[2024-01-01,2024-01-02)'`, `'[2024-01-01,infinity)'`),
	"textrange":       of(`'[a,b)'`, `'["",b]'`, `'["a\"b,c\\d","~ "]'`, `'empty'`),
	"floatrange":      of(`'[0.1,1e300)'`, `'[-0,Infinity)'`, `'[0.30000000000000004,)'`),
	"int4multirange":  of(`'{}'`, `'{[1,3),[5,9)}'`),
	"int8multirange":  of(`'{[1,3),[5,9)}'`),
	"nummultirange":   of(`'{[1.50,3),[5,)}'`),
	"tsmultirange":    of(`'{[2024-01-01,2024-01-02)}'`),
	"tstzmultirange":  of(`'{[2024-01-01 00:00+02,2024-01-02 00:00+00)}'`),
	"datemultirange":  of(`'{[2024-01-01,2024-01-02)}'`),
	"textmultirange":  of(`'{[a,b),["c\"","d,e"]}'`),
	"floatmultirange": of(`'{[0.1,0.30000000000000004)}'`),

	"mood":      {values: with(plain(`'sad'`, `'a,b"c\'`), empty)},
	"posint":    of(`7`),
	"odd":       of(`7`),
	"shortname": of(`'bob'`, `'ä"'`),
	"price":     of(`1.10`, `-0.05`),
	"ints":      {values: plain(`'{1,2}'`, `'{}'`, `'[5:6]={1,2}'`, `'{{1},{2}}'`), noKey: "cannot be a key"},
	"doc":       {values: with(jsonValues, jsonLossy...), noKey: "cannot be a key"},
	"pair": {values: plain(`ROW(1,'x')`, `ROW(NULL,NULL)`, `ROW(-1,'')`, `ROW(1,'a,b"c\d(e)')`),
		noKey: "cannot be a key"},
	"goodpair": {values: plain(`ROW(1,'x')::pair`), noKey: "cannot be a key"},
	"nest": {values: plain(`ROW(ROW(1,'x"y'),'{1,NULL}','{"a": [1]}','a,b"c\')`, `ROW(NULL,'{}',NULL,'')`,
		`ROW(ROW(NULL,''),'[5:5]={1}','null','sad')`), noKey: "cannot be a key"},

	"information_schema.cardinal_number": of(`7`),
	"information_schema.character_data":  of(`'x'`),
	"information_schema.sql_identifier":  of(`'x'`),
	"information_schema.time_stamp":      of(`'2024-01-01 01:00:00.25+02'`),
	"information_schema.yes_or_no":       of(`'YES'`),

	"aclitem":       of(`'postgres=r/postgres'`),
	"cid":           of(`'0'`, `'4294967295'`),
	"xid":           of(`'0'`, `'4294967295'`),
	"xid8":          of(`'0'`, `'18446744073709551615'`),
	"tid":           of(`'(0,1)'`, `'(4294967295,65535)'`),
	"pg_lsn":        of(`'0/0'`, `'FFFFFFFF/FFFFFFFF'`),
	"pg_snapshot":   of(`'10:20:10,14,15'`),
	"txid_snapshot": of(`'10:20:10,14,15'`),
	"int2vector":    {values: with(plain(`'1 2'`, `'-32768 32767'`), empty)},
	"oidvector":     {values: with(plain(`'1 2'`), empty)},

	"regclass":      of(`'pg_class'`, `'information_schema.tables'`, `'-'`, `'4000000000'`),
	"regcollation":  of(`'"C"'`, `'nocase'`),
	"regconfig":     of(`'english'`),
	"regdictionary": of(`'simple'`),
	"regnamespace":  of(`'public'`, `'pg_catalog'`),
	"regoper":       of(`'pg_catalog.||/'`, `'0'`),
	"regoperator":   of(`'+(integer,integer)'`),
	"regproc":       of(`'int4in'`, `'-'`),
	"regprocedure":  of(`'abs(numeric)'`),
	"regrole":       of(`'postgres'`, `'pg_monitor'`),
	"regtype":       of(`'int4'`, `'character varying[]'`, `'public.mood'`),

	"hstore":    {values: with(plain(`'a=>1, "b c"=>NULL, "d\"e"=>""'`), empty), noKey: "cannot be a key"},
	"ltree":     {values: with(plain(`'Top.Science'`), empty)},
	"lquery":    of(`'Top.*{1,2}.a|b'`),
	"ltxtquery": of(`'Europe & Russia*@ & !c'`),
	"cube":      of(`'(1,2),(3,4)'`, `'(0.1)'`, `'()'`),
	"seg":       of(`'1.00 .. 2'`, `'~5'`, `'<3'`, `'1 ..'`),
	"ean13":     of(`'9780393040029'`),
	"isbn":      of(`'0-393-04002-X'`),
	"isbn13":    of(`'978-0-393-04002-9'`),
	"ismn":      of(`'M-3452-4680-5'`),
	"ismn13":    of(`'979-0-3452-4680-5'`),
	"issn":      of(`'1436-4522'`),
	"issn13":    of(`'977-1436-452-00-8'`),
	"upc":       of(`'220356483481'`),
	"lo":        of(`0`, `4294967295`),
	"query_int": of(`'1&(2|!3)'`),

	"ghstore": {none: internal}, "gtsvector": {none: internal}, "ltree_gist": {none: internal},
	"intbig_gkey":           {none: internal},
	"pg_brin_bloom_summary": {none: noInput}, "pg_brin_minmax_multi_summary": {none: noInput},
	"pg_dependencies": {none: noInput}, "pg_mcv_list": {none: noInput},
	"pg_ndistinct": {none: noInput}, "pg_node_tree": {none: noInput},
}

// postgresColumns are columns whose type is more than a type.
var postgresColumns = []columnType{
	{name: "text nocase", column: "text COLLATE nocase", values: plain(`'Foo'`, `'BAR'`),
		show: "%s || ' ' || encode(textsend(%s), 'hex')"},
	{name: "numeric(5,2)", values: plain(`1.10`, `-999.99`), show: "%s::text"},
	{name: "numeric(3,-2)", values: plain(`1200`, `-99900`), show: "%s::text"},
	{name: "time(0)", values: plain(`'01:02:03'`), show: "%s::text"},
	{name: "timestamp(3)", values: plain(`'2024-01-01 01:02:03.123'`), show: "%s::text"},
	{name: "interval day to second", values: plain(`'1 day 02:03:04.5'`), show: "%s::text"},
	{name: "char(300)", values: plain(`'x'`, `repeat('ä', 300)`),
		show: "encode(bpcharsend(%s), 'hex')"},
	{name: "jsonb not null", column: "jsonb NOT NULL", show: "%s::text", required: true, noKey: "cannot be a key",
		values: plain(`'null'`, `'1'`, `'[null]'`)},
	{name: "numeric long", column: "numeric", show: "%s::text", values: []value{
		{sql: `1e131071`, noPath: "2048"}, {sql: `('0.' || repeat('1', 16383))::numeric`, noPath: "2048"}}},
	{name: "text long", column: "text", show: "%s", values: plain(`repeat('k', 2048)`)},
}
