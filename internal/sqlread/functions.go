package sqlread

import "strings"

// harmless are the words that may stand before a bracket in a statement which does no more than it
// says: words of the grammar, types with a length, and functions of the server's own that change
// nothing but sequences. A user may have a function of such a name: see Effect.Names.
var harmless = func() map[string]string {
	m := make(map[string]string)
	for w := range strings.FieldsSeq(`
		all and any array as between by case cast conflict cube distinct do else except exists
		extract fetch filter first for from full group grouping having in inner intersect into
		is join key last lateral left like ilike limit materialized natural next not nothing
		nulls of offset on only or order outer over partition range recursive returning right
		rollup row rows select set sets similar some table then to union using values when
		where window with within bit char character decimal float interval numeric time
		timestamp varchar varying coalesce greatest least nullif overlay position substring
		trim normalize abs age array_agg array_append array_length array_position array_remove
		array_to_json array_to_string array_upper avg bit_length bool_and bool_or btrim
		cardinality ceil ceiling char_length character_length chr concat concat_ws count
		cume_dist current_database current_schema current_schemas currval date_part date_trunc
		decode dense_rank div encode every exp first_value floor format format_type gcd
		generate_series generate_subscripts gen_random_uuid has_table_privilege initcap
		json_agg json_array_elements json_array_elements_text json_array_length
		json_build_array json_build_object json_each json_each_text json_object_agg
		json_object_keys json_strip_nulls json_typeof jsonb_agg jsonb_array_elements
		jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object
		jsonb_each jsonb_each_text jsonb_object_agg jsonb_object_keys jsonb_set
		jsonb_strip_nulls jsonb_typeof justify_days justify_hours lag last_value lead left
		length ln log lower lpad ltrim make_date make_interval make_time make_timestamp
		make_timestamptz max md5 min mod nextval now nth_value ntile obj_description
		octet_length col_description percent_rank percentile_cont percentile_disc
		pg_encoding_to_char pg_get_constraintdef pg_get_expr pg_get_indexdef
		pg_get_serial_sequence pg_get_userbyid pg_get_viewdef pg_is_in_recovery pg_sleep
		pg_table_is_visible pg_type_is_visible pg_typeof phraseto_tsquery plainto_tsquery pow
		power quote_ident quote_literal random rank regexp_match regexp_matches regexp_replace
		regexp_split_to_array regexp_split_to_table repeat replace reverse right round
		row_number row_to_json rpad rtrim shobj_description sign split_part sqrt starts_with
		statement_timestamp stddev string_agg string_to_array strpos substr sum timezone
		to_ascii to_char to_date to_json to_jsonb to_number to_regclass to_timestamp
		to_tsquery to_tsvector transaction_timestamp translate trunc ts_headline ts_rank
		ts_rank_cd unnest upper variance version websearch_to_tsquery width_bucket
		clock_timestamp`) {
		m[w] = w
	}
	return m
}()
