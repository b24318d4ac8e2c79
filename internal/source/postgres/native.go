package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source/document"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
)

// nativeSigns are the operators that native ones of a query are. All of pg_catalog: those that
// extensions have under the same names, as intarray has, may do something else.
var nativeSigns = map[query.Op]string{query.Match: "~", query.IMatch: "~*", query.Cs: "@>",
	query.Cd: "<@", query.Ov: "&&", query.Sl: "<<", query.Sr: ">>", query.Nxl: "&>",
	query.Nxr: "&<", query.Adj: "-|-", query.Fts: "@@", query.Plfts: "@@", query.Phfts: "@@",
	query.Wfts: "@@"}

// searches are the functions that make a tsquery of the words of a query.
var searches = map[query.Op]string{query.Fts: "to_tsquery", query.Plfts: "plainto_tsquery",
	query.Phfts: "phraseto_tsquery", query.Wfts: "websearch_to_tsquery"}

// nativeCondition returns the condition of a native operator, see document.Filters.
func nativeCondition(
	n *document.Node, c document.Column, t *query.Term, mark func(arg any, typ string) string,
) string {
	col := native(c)
	expr, sign := col.in(n), "OPERATOR(pg_catalog."+nativeSigns[t.Op]+")"
	switch {
	case t.Op.Searches():
		config := ""
		if t.Config != "" {
			config = mark(t.Config, "regconfig") + ", "
		}
		if col.Content != query.Lexemes {
			expr = "pg_catalog.to_tsvector(" + config + expr + ")"
		}
		return expr + " " + sign + " pg_catalog." + searches[t.Op] + "(" + config +
			mark(t.Values[0], "text") + ")"
	case t.Op == query.Match || t.Op == query.IMatch:
		if op := operator(c, nil, nativeSigns[t.Op]); op != nativeSigns[t.Op] {
			sign = op
		}
		if t.Quant == query.One {
			return expr + " " + sign + " " + mark(t.Values[0], "text")
		}
		args := make([]any, len(t.Values))
		for i, v := range t.Values {
			args[i] = v
		}
		return expr + " " + sign + " " + document.Quantifier(t) +
			mark(arrayOf(args), "text[]") + ")"
	}
	return expr + " " + sign + " " + mark(t.Values[0], col.base)
}

// nativeLookups appends the indexes that find rows by native operators: the first column of
// one, and each of a GIN index. Those of regular expressions are not among them: an index of
// trigrams may find all rows.
func nativeLookups(
	ctx context.Context, c document.Conn, n *document.Node, all []query.Index,
) ([]query.Index, error) {
	rows, err := c.(engineConn).conn.Query(ctx, `SELECT a.attname::text,
			array_agg(DISTINCT o.oprname::text), i.indpred IS NOT NULL,
			COALESCE(pg_catalog.pg_get_expr(i.indpred, i.indrelid), '')
		FROM pg_catalog.pg_index i
		JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
		JOIN pg_catalog.pg_am m ON m.oid = x.relam AND m.amname IN ('gin', 'gist', 'spgist')
		CROSS JOIN unnest(i.indkey::int2[], i.indclass::oid[]) WITH ORDINALITY AS k(num, opc, n)
		JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num
		JOIN pg_catalog.pg_opclass f ON f.oid = k.opc
		JOIN pg_catalog.pg_amop s ON s.amopfamily = f.opcfamily AND s.amoppurpose = 's'
		JOIN pg_catalog.pg_operator o ON o.oid = s.amopopr
			AND o.oprnamespace = 'pg_catalog'::regnamespace
		WHERE i.indrelid = $1::oid AND i.indisvalid AND (k.n = 1 OR m.amname = 'gin')
		GROUP BY i.indexrelid, i.indrelid, i.indpred, k.n, a.attname`,
		n.Table.Native.(*table).oid)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		x := query.Index{Columns: make([]string, 1), Ops: []query.Op{}}
		var signs []string
		var predicate string
		if err := rows.Scan(&x.Columns[0], &signs, &x.Partial, &predicate); err != nil {
			return nil, err
		}
		for op, sign := range nativeSigns {
			if op != query.Match && op != query.IMatch && slices.Contains(signs, sign) {
				x.Ops = append(x.Ops, op)
			}
		}
		if x.Partial {
			x.Where = n.Conditions(predicate, false, provable)
		}
		all = append(all, x)
	}
	return all, rows.Err()
}

// spans are the types of ranges with those of their bounds, and multispans of multiranges.
var (
	spans = map[uint32]uint32{pgtype.Int4rangeOID: pgtype.Int4OID,
		pgtype.Int8rangeOID: pgtype.Int8OID, pgtype.NumrangeOID: pgtype.NumericOID,
		pgtype.TsrangeOID: pgtype.TimestampOID, pgtype.TstzrangeOID: pgtype.TimestamptzOID,
		pgtype.DaterangeOID: pgtype.DateOID}
	multispans = map[uint32]uint32{pgtype.Int4multirangeOID: pgtype.Int4OID,
		pgtype.Int8multirangeOID: pgtype.Int8OID, pgtype.NummultirangeOID: pgtype.NumericOID,
		pgtype.TsmultirangeOID:   pgtype.TimestampOID,
		pgtype.TstzmultirangeOID: pgtype.TimestamptzOID,
		pgtype.DatemultirangeOID: pgtype.DateOID}
)

const tsvectorOID = 3614

// elements are the types whose texts are read here as those of elements. What the server reads
// of others may depend on when it reads them, or on what there is in the database.
var elements = []uint32{pgtype.BoolOID, pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID,
	pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID, pgtype.TextOID, pgtype.VarcharOID,
	pgtype.BPCharOID, pgtype.UUIDOID, pgtype.DateOID, pgtype.TimeOID, pgtype.TimestampOID,
	pgtype.TimestamptzOID, pgtype.InetOID, pgtype.CIDROID}

// contentOf says what values of a type consist of.
func contentOf(t *catalog.Type) (content query.Content, elem row.KeyPart) {
	switch {
	case spans[t.OID] != 0:
		return query.Span, partOf(spans[t.OID])
	case multispans[t.OID] != 0:
		return query.Spans, partOf(multispans[t.OID])
	case t.Elem != 0 && (slices.Contains(elements, t.Elem) || t.ElemType == "e"):
		return query.Elements, partOf(t.Elem)
	case t.OID == pgtype.JSONBOID:
		return query.Tree, elem
	case t.OID == pgtype.JSONOID:
		return query.Prose, elem
	case t.OID == tsvectorOID:
		return query.Lexemes, elem
	}
	return query.Single, elem
}

// partOf returns how the text of an element or a bound is read.
func partOf(oid uint32) row.KeyPart {
	v := valueTypeOf(&catalog.Type{OID: oid})
	return row.KeyPart{Kind: v.kind, Bits: v.bits}
}

// within returns what a path leads to in a column, see document.Filters.
func within(c document.Column, path query.Path) document.Column {
	in := *native(c)
	if in.path = path; path.IsText() {
		in.valueType = valueTypeOf(&catalog.Type{OID: pgtype.TextOID, TypeType: "b", Name: "text",
			Base: "text"})
		in.Content = query.Single
	}
	return &in
}
