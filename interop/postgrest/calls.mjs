// Asks a hotrow what clients of PostgREST ask, by postgrest-js and supabase-js as they are, and
// compares with what PostgREST documents.
//
//	node calls.mjs URL postgresql|mariadb|sqlite
//
// It prints a line of JSON for each call: its group, its name, and what differs ("" is nothing).
import { PostgrestClient } from '@supabase/postgrest-js'
import { createClient } from '@supabase/supabase-js'
import WebSocket from 'ws'

const [url, database] = process.argv.slice(2)
const rest = new PostgrestClient(url + '/rest/v1')
const own = database === 'postgresql' // it has PostgreSQL's own operators
const calls = []
let group = ''
const call = (name, ask, want) => calls.push({ group, name, ask, want })
const users = (...names) => ({ status: 200, data: names.map((username) => ({ username })) })
const refused = (code) => ({ error: code })
const native = (want) => (own ? want : refused('PGRST100')) // by its name, elsewhere
const from = (table, ...select) => rest.from(table).select(...select)
const names = () => from('users', 'username')

group = 'select'
call("select('username, age').eq()", () => from('users', 'username, age').eq('username', 'supabot'),
	{ status: 200, data: [{ username: 'supabot', age: 25 }] })
call("select('name:username')", () => from('users', 'name:username').eq('age', 20),
	{ status: 200, data: [{ name: 'dragarcia' }] })
call('select()', () => from('channels').order('id'), { status: 200, data: [{ id: 1, slug: 'public' }, { id: 2, slug: 'random' }] })
call("select('age::text')", () => from('users', 'age::text').eq('username', 'supabot'), { status: 200, data: [{ age: '25' }] })
call("select('data->plan')", () => from('users', 'data->plan').eq('username', 'supabot'), { status: 200, data: [{ plan: 'pro' }] })
call("select('data->>n, x:data->list->0')", () => from('users', 'data->>n, x:data->list->0').eq('username', 'supabot'),
	{ status: 200, data: [{ n: '3', x: 1 }] })
call("select('nope')", () => from('users', 'nope'), { status: 400, error: '42703' })
call("from('nope')", () => from('nope'), { status: 404, error: 'PGRST205' })
call('select(head, count)', () => from('users', '*', { count: 'exact', head: true }), { status: 200, data: null, count: 4 })
call('select(count: exact)', () => from('users', 'username', { count: 'exact' }).eq('status', 'OFFLINE'),
	{ status: 200, data: [{ username: 'kiwicopple' }], count: 1 })
call('select(count: planned)', () => from('users', 'username', { count: 'planned' }).eq('age', 20), { data: [{ username: 'dragarcia' }] })
call('select(count: estimated)', () => from('users', 'username', { count: 'estimated' }).eq('age', 20),
	{ status: 200, data: [{ username: 'dragarcia' }], count: 1 })

group = 'filters'
call('eq', () => names().eq('status', 'OFFLINE'), users('kiwicopple'))
call('neq', () => names().neq('status', 'ONLINE'), users('kiwicopple'))
call('gt', () => names().gt('age', 25), users('kiwicopple'))
call('gte', () => names().gte('age', 25).order('username'), users('kiwicopple', 'supabot'))
call('lt', () => names().lt('age', 22), users('dragarcia'))
call('lte', () => names().lte('age', 22).order('username'), users('awailas', 'dragarcia'))
call('like', () => names().like('username', '%supa%'), users('supabot'))
call('likeAllOf', () => names().likeAllOf('username', ['%supa%', '%bot%']), users('supabot'))
call('likeAnyOf', () => names().likeAnyOf('username', ['%supa%', '%kiwi%']).order('username'), users('kiwicopple', 'supabot'))
call('ilike', () => names().ilike('username', '%SUPA%'), users('supabot'))
call('ilikeAllOf', () => names().ilikeAllOf('username', ['%SUPA%', '%bot%']), users('supabot'))
call('ilikeAnyOf', () => names().ilikeAnyOf('username', ['%SUPA%', '%KIWI%']).order('username'), users('kiwicopple', 'supabot'))
call('is(null)', () => names().is('data', null), users('dragarcia'))
call('isDistinct', () => names().isDistinct('status', 'ONLINE'), users('kiwicopple'))
call('in', () => names().in('age', [20, 30]).order('age'), users('dragarcia', 'kiwicopple'))
call('notIn', () => names().notIn('age', [20, 30]).order('age'), users('awailas', 'supabot'))
call('not', () => names().not('status', 'eq', 'ONLINE'), users('kiwicopple'))
call('or', () => names().or('age.eq.20,username.eq.kiwicopple').order('age'), users('dragarcia', 'kiwicopple'))
call('filter', () => names().filter('age', 'in', '(20,22)').order('age'), users('dragarcia', 'awailas'))
call('match', () => names().match({ status: 'ONLINE', age: 25 }), users('supabot'))
call("eq('data->>plan')", () => names().eq('data->>plan', 'pro'), users('supabot'))
call('an operand of another type', () => names().eq('age', 'old'), { status: 400, error: '22P02' })
call('an unknown operator', () => names().filter('age', 'nope', '1'), { status: 400, error: 'PGRST100' })

group = "PostgreSQL's operators"
call('contains(array)', () => names().contains('tags', ['a']), native(users('supabot')))
call('containedBy(array)', () => names().containedBy('tags', ['a', 'b', 'c']), native(users('supabot')))
call('overlaps(array)', () => names().overlaps('tags', ['b', 'x']).order('username'), native(users('kiwicopple', 'supabot')))
call('contains(jsonb)', () => names().contains('data', { plan: 'pro' }), native(users('supabot')))
call('contains(range)', () => names().contains('age_range', '[2,3)'), native(users('supabot')))
call('rangeGt', () => names().rangeGt('age_range', '[2,25)'), native(users('kiwicopple')))
call('rangeGte', () => names().rangeGte('age_range', '[2,25)').order('username'), native(users('kiwicopple')))
call('rangeLt', () => names().rangeLt('age_range', '[25,30)'), native(users('supabot')))
call('rangeLte', () => names().rangeLte('age_range', '[25,30)'), native(users('supabot')))
call('rangeAdjacent', () => names().rangeAdjacent('age_range', '[5,25)').order('username'), native(users('kiwicopple', 'supabot')))
call('overlaps(range)', () => names().overlaps('age_range', '[2,25)'), native(users('supabot')))
call('textSearch', () => names().textSearch('catchphrase', "'fat' & 'cat'", { config: 'english' }), native(users('supabot')))
call('textSearch(plain)', () => names().textSearch('catchphrase', 'fat cat', { type: 'plain', config: 'english' }), native(users('supabot')))
call('textSearch(phrase)', () => names().textSearch('catchphrase', 'cat fat', { type: 'phrase', config: 'english' }), native({ status: 200, data: [] }))
call('textSearch(websearch)', () => names().textSearch('catchphrase', 'cat -fat', { type: 'websearch', config: 'english' }), native(users('kiwicopple')))
call('regexMatch', () => names().filter('username', 'match', '^sup.*t$'), native(users('supabot')))
call('regexIMatch', () => names().filter('username', 'imatch', '^SUP'), native(users('supabot')))

group = 'order and range'
call('order', () => names().order('age', { ascending: false }), users('kiwicopple', 'supabot', 'awailas', 'dragarcia'))
call('order by two', () => names().order('status', { ascending: false }).order('age'), users('dragarcia', 'awailas', 'supabot', 'kiwicopple'))
call('order(nullsFirst)', () => names().order('data->>plan', { nullsFirst: true }).order('username').limit(2), users('awailas', 'dragarcia'))
call("order('data->>n')", () => names().order('data->>n', { ascending: false, nullsFirst: false }).limit(2), users('supabot', 'kiwicopple'))
call('order by an embedded column', () => from('messages', 'id, users(age)').order('users(age)', { ascending: false }).order('id').limit(2),
	{ status: 200, data: [{ id: 3, users: { age: 30 } }, { id: 1, users: { age: 25 } }] })
call('limit', () => names().order('age').limit(1), users('dragarcia'))
call('range', () => names().order('age').range(1, 2), users('awailas', 'supabot'))
call('range beyond the count', () => from('users', 'username', { count: 'exact' }).range(9, 10), { status: 416, error: 'PGRST103' })

group = 'embedding'
call('to one', () => from('messages', 'id, users(username)').eq('id', 3), { status: 200, data: [{ id: 3, users: { username: 'kiwicopple' } }] })
call('to many', () => from('users', 'username, messages(id)').eq('username', 'supabot'),
	{ status: 200, data: [{ username: 'supabot', messages: [{ id: 1 }, { id: 2 }] }] })
call('through a table', () => from('users', 'username, channels(slug)').eq('username', 'kiwicopple'), { status: 400, error: 'PGRST200' })
call('nested', () => from('channels', 'slug, messages(id, users(age))').eq('id', 2),
	{ status: 200, data: [{ slug: 'random', messages: [{ id: 2, users: { age: 25 } }] }] })
call('!inner and a filter on it', () => from('users', 'username, messages!inner(id)').eq('messages.id', 3),
	{ status: 200, data: [{ username: 'kiwicopple', messages: [{ id: 3 }] }] })
call('a spread', () => from('messages', 'id, ...users(age)').eq('id', 1), { status: 200, data: [{ id: 1, age: 25 }] })
call('order and limit of embedded rows', () => from('users', 'messages(id)').eq('username', 'supabot')
	.order('id', { referencedTable: 'messages', ascending: false }).limit(1, { referencedTable: 'messages' }),
	{ status: 200, data: [{ messages: [{ id: 2 }] }] })
call('or on embedded rows', () => from('users', 'messages(id)').eq('username', 'supabot').or('id.eq.2,id.eq.9', { referencedTable: 'messages' }),
	{ status: 200, data: [{ messages: [{ id: 2 }] }] })

group = 'one row, csv, nulls'
call('single()', () => names().eq('age', 20).single(), { status: 200, data: { username: 'dragarcia' } })
call('single() of several', () => names().single(), { status: 406, error: 'PGRST116' })
call('single() of none', () => names().eq('age', 1).single(), { status: 406, error: 'PGRST116' })
call('maybeSingle() of one', () => names().eq('age', 20).maybeSingle(), { status: 200, data: { username: 'dragarcia' } })
call('maybeSingle() of none', () => names().eq('age', 1).maybeSingle(), { status: 200, data: null })
call('csv()', () => from('users', 'username, age, data->>plan').lt('age', 26).order('age').csv(),
	{ status: 200, data: 'username,age,plan\ndragarcia,20,\nawailas,22,\nsupabot,25,pro' })
call('stripNulls()', () => from('users', 'username, data').eq('username', 'dragarcia').stripNulls(), users('dragarcia'))
call('single().stripNulls()', () => from('users', 'username, data').eq('username', 'dragarcia').single().stripNulls(),
	{ status: 200, data: { username: 'dragarcia' } })

group = 'insert and upsert'
const message = (id, text = 'new') => ({ id, message: text, username: 'supabot', channel_id: 1 })
call('insert one', () => rest.from('messages').insert(message(10)), { status: 201, data: null })
call('insert many, select', () => rest.from('messages').insert([message(11), message(12)]).select('id, message'),
	{ status: 201, data: [{ id: 11, message: 'new' }, { id: 12, message: 'new' }] })
call('insert, count', () => rest.from('messages').insert([message(13)], { count: 'exact' }), { status: 201, data: null, count: 1 })
call('insert, select, single()', () => rest.from('messages').insert(message(14)).select('id').single(), { status: 201, data: { id: 14 } })
call('insert, select with an embedded row', () => rest.from('messages').insert(message(15)).select('id, users(age)'),
	{ status: 201, data: [{ id: 15, users: { age: 25 } }] })
call('insert twice', () => rest.from('messages').insert(message(10)), { status: 409, error: '23505' })
call('insert without its parent', () => rest.from('messages').insert({ ...message(16), username: 'nobody' }), { status: 409, error: '23503' })
call('insert an unknown column', () => rest.from('messages').insert({ nope: 1 }), { status: 400, error: 'PGRST204' })
call('insert other members', () => rest.from('messages').insert([{ ...message(17) }, { id: 18, message: 'x' }], { defaultToNull: false }).select('id'),
	{ status: 201, data: [{ id: 17 }, { id: 18 }] })
call('upsert', () => rest.from('messages').upsert(message(10, 'changed')).select('id, message'), { status: 200, data: [{ id: 10, message: 'changed' }] })
call('upsert a new row', () => rest.from('messages').upsert(message(19)).select('id'), { status: 201, data: [{ id: 19 }] })
call('upsert(onConflict)', () => rest.from('channels').upsert({ id: 1, slug: 'public' }, { onConflict: 'slug' }).select(), { status: 200, data: [{ id: 1, slug: 'public' }] })
call('upsert(ignoreDuplicates)', () => rest.from('messages').upsert(message(10, 'no'), { ignoreDuplicates: true }).select('id'), { status: 201, data: [] })

group = 'update and delete'
call('update', () => rest.from('messages').update({ message: 'u' }).eq('id', 11), { status: 204, data: null })
call('update, select', () => rest.from('messages').update({ message: 'v' }).in('id', [11, 12]).select('id, message').order('id'),
	{ status: 200, data: [{ id: 11, message: 'v' }, { id: 12, message: 'v' }] })
call('update, select without an order', () => rest.from('messages').update({ message: 'v' }).eq('id', 11).select('message'),
	{ status: 200, data: [{ message: 'v' }] })
call('update, select with an embedded row', () => rest.from('messages').update({ message: 'v' }).eq('id', 11).select('users(age)'),
	{ status: 200, data: [{ users: { age: 25 } }] })
call('update none', () => rest.from('messages').update({ message: 'v' }).eq('id', 999).select(), { status: 200, data: [] })
call('update, count', () => rest.from('messages').update({ message: 'w' }, { count: 'exact' }).in('id', [11, 12]), { status: 204, data: null, count: 2 })
call('update, maxAffected()', () => rest.from('messages').update({ message: 'z' }).in('id', [11, 12]).maxAffected(1), { status: 400, error: 'PGRST124' })
call('what was refused is not done', () => from('messages', 'message').eq('message', 'z'), { status: 200, data: [] })
call('update, single() of several', () => rest.from('messages').update({ message: 'z' }).in('id', [11, 12]).select('id').single(), { status: 406, error: 'PGRST116' })
call('delete', () => rest.from('messages').delete().eq('id', 11), { status: 204, data: null })
call('delete, select', () => rest.from('messages').delete().eq('id', 12).select('id'), { status: 200, data: [{ id: 12 }] })
call('delete, count', () => rest.from('messages').delete({ count: 'exact' }).gte('id', 13), { status: 204, data: null, count: 6 })
call('what was deleted is gone', () => from('messages', 'id').gt('id', 10), { status: 200, data: [] })

group = 'schemas and functions'
call("schema('public')", () => rest.schema('public').from('users').select('username').eq('age', 20), users('dragarcia'))
call("schema('personal')", () => rest.schema('personal').from('users').select(), { status: 406, error: 'PGRST106' })
call('rpc()', () => rest.rpc('get_status'), { status: 404, error: 'PGRST202' })

group = 'supabase-js'
const supabase = createClient(url, 'anon', { auth: { persistSession: false }, realtime: { transport: WebSocket } })
call('from().select()', () => supabase.from('users').select('username').eq('age', 20), users('dragarcia'))
call('from().insert().select().single()', () => supabase.from('messages').insert(message(30)).select('id').single(), { status: 201, data: { id: 30 } })
call('from().delete()', () => supabase.from('messages').delete().eq('id', 30), { status: 204, data: null })

// differs says what an answer has otherwise than it should; "": nothing.
function differs(got, want) {
	const is = []
	if ('status' in want && got.status !== want.status) is.push(`status ${got.status}, not ${want.status}`)
	if ('error' in want) {
		if (got.error?.code !== want.error) is.push(`code ${got.error?.code}, not ${want.error}`)
		for (const member of ['code', 'details', 'hint', 'message'])
			if (got.error && !(member in got.error)) is.push('no ' + member)
	} else if (got.error) is.push(`${got.error.code}: ${got.error.message}`)
	else if ('data' in want && !same(got.data, want.data)) is.push(JSON.stringify(got.data))
	if ('count' in want && got.count !== want.count) is.push(`count ${got.count}, not ${want.count}`)
	return is.join('; ')
}

function same(a, b) {
	if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return a === b
	const keys = Object.keys(a)
	return keys.length === Object.keys(b).length && keys.every((k) => k in b && same(a[k], b[k]))
}

for (const { group, name, ask, want } of calls) {
	let wrong
	try {
		wrong = differs(await ask(), want)
	} catch (e) {
		wrong = String(e)
	}
	const how = 'error' in want && want.error === 'PGRST100' && group.startsWith('PostgreSQL') ? 'refused' : 'as PostgREST'
	console.log(JSON.stringify({ group, name, how, wrong }))
}
