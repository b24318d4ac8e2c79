// Asks a hotrow what the data providers of react-admin (ra-data-postgrest) and refine ask, as they are,
// after calls.mjs, and prints such lines as that does.
//
//	node providers.mjs URL
import { isDeepStrictEqual } from 'node:util'
import reactAdmin from '@raphiniert/ra-data-postgrest'
import { dataProvider } from '@refinedev/supabase'
import { createClient } from '@supabase/supabase-js'
import WebSocket from 'ws'

const url = process.argv[2]
const httpClient = async (at, o = {}) => { // as that of react-admin, of which no more is needed
	const headers = new Headers(o.headers)
	if (o.body) headers.set('Content-Type', 'application/json')
	const answer = await fetch(at, { ...o, headers })
	const body = await answer.text()
	const json = body ? JSON.parse(body) : undefined
	if (!answer.ok) throw Object.assign(new Error(json?.message), { code: json?.code })
	return { status: answer.status, headers: answer.headers, body, json }
}
const admin = reactAdmin.default({ apiUrl: url + '/rest/v1', httpClient, defaultListOp: 'eq',
	primaryKeys: new Map([['users', ['username']]]), schema: () => '' })
const refine = dataProvider(createClient(url, 'anon', { auth: { persistSession: false }, realtime: { transport: WebSocket } }))

const message = (id, text = 'pv') => ({ id, message: text, username: 'supabot', channel_id: 1 })
const page = (field, perPage = 2) => ({ pagination: { page: 1, perPage }, sort: { field, order: 'ASC' }, filter: {} })
const calls = []
let group = ''
const call = (name, ask, want) => calls.push({ group, name, ask, want })
const data = async (asked) => (await asked).data
const both = async (asked) => { const { data, total } = await asked; return { data, total } }

group = 'ra-data-postgrest'
call('getList', () => both(admin.getList('users', { ...page('age'), filter: { 'status@eq': 'ONLINE' }, meta: { columns: ['username'] } })),
	{ data: [{ username: 'dragarcia', id: 'dragarcia' }, { username: 'awailas', id: 'awailas' }], total: 3 })
call('getOne', () => data(admin.getOne('channels', { id: 1 })), { id: 1, slug: 'public' })
call('getMany', () => data(admin.getMany('channels', { ids: [1, 2] })), [{ id: 1, slug: 'public' }, { id: 2, slug: 'random' }])
call('getManyReference', () => data(admin.getManyReference('messages', { ...page('id'), target: 'channel_id', id: 2, meta: { columns: ['id', 'message'] } })),
	[{ id: 2, message: 'Perfection is attained' }])
call('create', () => data(admin.create('messages', { data: message(50) })), message(50))
call('create of a key that is there', () => admin.create('messages', { data: message(50) }), '23505')
call('update', () => data(admin.update('messages', { id: 50, data: message(50, 'new'), previousData: message(50) })), message(50, 'new'))
call('delete', () => data(admin.delete('messages', { id: 50, previousData: message(50) })), message(50, 'new'))
call('deleteMany', async () => {
	await admin.create('messages', { data: message(51) })
	await admin.create('messages', { data: message(52) })
	return data(admin.deleteMany('messages', { ids: [51, 52] }))
}, [51, 52])

group = 'refine'
const list = { pagination: { currentPage: 1, pageSize: 2, mode: 'server' }, sorters: [{ field: 'age', order: 'asc' }] }
call('getList', () => refine.getList({ ...list, resource: 'users', filters: [{ field: 'status', operator: 'eq', value: 'ONLINE' }],
	meta: { select: 'username', idColumnName: 'username' } }), { data: [{ username: 'dragarcia' }, { username: 'awailas' }], total: 3 })
call('getOne', () => data(refine.getOne({ resource: 'messages', id: 1, meta: { select: 'message, users(age)' } })),
	{ message: 'Hello World', users: { age: 25 } })
call('getMany', () => data(refine.getMany({ resource: 'channels', ids: [1, 2] })), [{ id: 1, slug: 'public' }, { id: 2, slug: 'random' }])
call('create', () => data(refine.create({ resource: 'messages', variables: message(60) })), message(60))
call('createMany', () => data(refine.createMany({ resource: 'messages', variables: [message(61), message(62)] })), [message(61), message(62)])
call('update', () => data(refine.update({ resource: 'messages', id: 60, variables: { message: 'new' } })), message(60, 'new'))
call('deleteOne', async () => {
	await refine.deleteOne({ resource: 'messages', id: 60 })
	return data(refine.getMany({ resource: 'messages', ids: [60] }))
}, [])
call('deleteMany', async () => (await data(refine.deleteMany({ resource: 'messages', ids: [61, 62] }))).length, 2)

for (const { group, name, ask, want } of calls) {
	let wrong = ''
	try {
		const got = await ask()
		if (!isDeepStrictEqual(JSON.parse(JSON.stringify(got)), want)) wrong = JSON.stringify(got)
	} catch (e) {
		if (e.code !== want) wrong = String(e)
	}
	console.log(JSON.stringify({ group, name, how: 'as PostgREST', wrong }))
}
