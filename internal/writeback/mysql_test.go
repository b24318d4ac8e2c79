package writeback

import (
	"database/sql"
	"net/url"
	"slices"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the driver of the other program

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source/mysql"
)

// mariaTexts are samples of types that hold any text.
var mariaTexts = plain(`'abc'`, `'a"b\\c'`, `'''; --'`, `'null'`, `'ä€'`, `'😀'`, `' a'`, `'a,b'`,
	`'%2C%'`, `'a/b?c#d&e=f'`, `'+'`, `'[1]'`, `'"'`, `'AP8='`, `'5'`, `'\n\t'`)

// mariaTypes are the types of MariaDB's manual, each with the samples that its edges are.
var mariaTypes = []columnType{
	of("-128", "127", "0").of("tinyint"), of("0", "255").of("tinyint unsigned"),
	oddly(of("0", "1").of("tinyint(1)"), "7", "-1"),
	of("-32768", "32767").of("smallint"), of("65535").of("smallint unsigned"),
	of("-8388608", "8388607").of("mediumint"), of("16777215").of("mediumint unsigned"),
	of("-2147483648", "2147483647").of("int"), of("4294967295").of("int unsigned"),
	of("7", "0").of("int(5) zerofill"),
	of("-9223372036854775808", "9223372036854775807", "9007199254740993").of("bigint"),
	of("18446744073709551615", "0").of("bigint unsigned"),
	of("1.50", "-1.50", "0", "99999999.99").of("decimal(10,2)"),
	of("12345678901234567890123456789012345.123456789012345678901234567890", "-0.000000000000000000000000000001").
		of("decimal(65,30)"),
	of("12345678901234567890123456789012345678901234567890123456789012345").of("decimal(65,0)"),
	of("0.1", "-0.0", "3.4028234e38", "1e-38", "16777216", "1.5").of("float"),
	of("1.23").of("float(5,2)"),
	of("0.1", "-0.0", "1.7976931348623157e308", "5e-324", "2.2250738585072014e-308", "1e22", "9007199254740993").
		of("double"),
	of("1.23").of("double(5,2)"), of("0.1").of("float unsigned"),
	of("0", "1").of("bit(1)"), of("0", "5", "127").of("bit(7)"),
	of("0", "18446744073709551615").of("bit(64)"),
	of("1901", "2155", "2024", "0").of("year"),
	oddly(of("'2024-02-29'", "'0001-01-01'", "'9999-12-31'").of("date"), "'0000-00-00'", "'2024-00-00'"),
	oddly(of("'2024-02-29 03:04:05'", "'9999-12-31 23:59:59'").of("datetime"), "'0000-00-00 00:00:00'",
		"'2024-01-00 00:00:00'"),
	of("'2024-02-29 03:04:05.120000'", "'2024-02-29 03:04:05.000001'").of("datetime(6)"),
	oddly(of("'2024-02-29 03:04:05'", "'2038-01-19 03:14:07'").of("timestamp NULL"), "0"),
	of("'2024-02-29 03:04:05.123'").of("timestamp(3) NULL"),
	oddly(of("'00:00:00'", "'23:59:59'").of("time"), "'-01:02:03'", "'838:59:59'", "'24:00:00'"),
	oddly(of("'01:02:03.100'").of("time(3)"), "'-00:00:00.100'"),
	{name: "char(20)", values: mariaTexts}, {name: "varchar(20)", values: mariaTexts},
	of("'abc'", "'é'", "'ÿ'").of("varchar(20) CHARACTER SET latin1"),
	of("'abc'", "'ä€'").of("char(20) CHARACTER SET ucs2"), of("'abc'", "'😀'").of("varchar(20) CHARACTER SET utf16"),
	of("'abc'", "'ä€'").of("varchar(20) CHARACTER SET utf8mb3"),
	of("'abc'", "'日本'").of("varchar(20) CHARACTER SET sjis"),
	{name: "tinytext", values: mariaTexts}, {name: "text", values: mariaTexts},
	{name: "mediumtext", values: mariaTexts}, {name: "longtext", values: mariaTexts},
	of("x'00ff20'", "x'610000'", "x'000000'").of("binary(3)"),
	of("x'00ff'", "x'6100'", "x'2000'").of("varbinary(20)"), of("x'00ff'", "x'6100'").of("tinyblob"),
	of("x'00ff'", "x'6100'").of("blob"), of("x'00ff'").of("mediumblob"), of("x'00ff'").of("longblob"),
	of("'a'", "'b,c'", "'2'", "'ä'").of("enum('a','b,c','2','ä')"),
	of("'a'", "'a,b'", "'b'").of("set('a','b')"),
	oddly(blanksAround(of(`'{"a":[1,"b"]}'`, `'"x"'`, "'1'", "'true'").of("json")), "'null'",
		dbtest.MariaOrMySQL(`'{"a": [1.50, 1e400]}'`, `'{"a": [1.50, 1e300]}'`)),
	of("'00112233-4455-6677-8899-aabbccddeeff'").of("uuid"),
	of("'1.2.3.4'").of("inet4"), of("'::1'", "'::ffff:1.2.3.4'", "'2001:db8::'").of("inet6"),
	shape("point", "POINT(0.1 0.30000000000000004)"), shape("linestring", "LINESTRING(0 0,1 1e300)"),
	shape("polygon", "POLYGON((0 0,1 0,1 1,0 0))"), shape("multipoint", "MULTIPOINT(1 1,2 2)"),
	shape("multilinestring", "MULTILINESTRING((0 0,1 1),(2 2,3 3))"),
	shape("multipolygon", "MULTIPOLYGON(((0 0,1 0,1 1,0 0)))"),
	shape("geometrycollection", "GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1))"),
	shape("geometry", "POINT(1 2)"),
}

// onlyMariaDB are the types that MySQL has not.
var onlyMariaDB = []string{"uuid", "inet4", "inet6"}

// of gives the type its name.
func (c columnType) of(name string) columnType {
	c.name = name
	return c
}

// oddly adds values that are not what the type is declared for, or not all of them.
func oddly(c columnType, odd ...string) columnType {
	c.values = slices.Clone(c.values)
	for _, v := range odd {
		c.values = append(c.values, value{sql: v, odd: true})
	}
	return c
}

// blanksAround adds JSON in white space, which MariaDB keeps and no document has.
func blanksAround(c columnType) columnType {
	for _, sql := range []string{`' {"a" : [1,  2]} '`, `'\n[1]\t'`} {
		c.values = append(c.values, value{sql: sql, inPlace: "json msgpack cbor"})
	}
	return c
}

// shape returns a type of geometry.
func shape(name, text string) columnType {
	onEarth := text
	if dbtest.IsMySQL() { // which knows where the earth ends
		onEarth = strings.ReplaceAll(text, "1e300", "60")
	}
	return columnType{name: name, noKey: "cannot be a key", values: []value{
		{sql: "ST_GeomFromText('" + text + "')"},
		{sql: "ST_GeomFromText('" + onEarth + "', 4326)", inPlace: "json msgpack cbor"},
	}}
}

func TestMariaDB(t *testing.T) {
	link := dbtest.MariaDB(t)
	src, err := mysql.Open(t.Context(), link, mysql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	d := &database{src: src}
	if d.db, err = sql.Open("mysql", u.User.String()+"@tcp("+u.Host+")"+u.Path); err != nil {
		t.Fatal(err)
	}
	d.db.SetMaxOpenConns(1)
	d.exec(t, "SET sql_mode = '', time_zone = '+00:00', NAMES utf8mb4")
	for _, c := range mariaTypes {
		if dbtest.IsMySQL() && slices.Contains(onlyMariaDB, c.name) {
			continue
		}
		c.show = "CONCAT(HEX(%s), ' ', IFNULL(%s, ''))"
		if c.noKey == "" && strings.Contains(c.name, "json") {
			c.noKey = "cannot be a key"
		}
		d.types = append(d.types, c)
	}
	run(t, d)
}
