// Makes the tables of docs/reference/postgrest.md of what calls.mjs has printed.
//
//	node page.mjs POSTGRESQL MARIADB SQLITE
import { readFileSync } from 'node:fs'

const runs = process.argv.slice(2).map((file) => readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line)))
let group = ''
const good = runs.map((run) => run.filter((one) => !one.wrong).length)
console.log(`\nOf ${runs[0].length} calls ${good[0]} on PostgreSQL, ${good[1]} on MariaDB and ${good[2]} on SQLite give what is wanted.`)
runs[0].forEach((one, i) => {
	if (one.group !== group) console.log(`\n## ${(group = one.group)}\n\n| call | PostgreSQL | MariaDB | SQLite |\n|---|---|---|---|`)
	const cells = runs.map((run) => (run[i].wrong ? 'differs: ' + run[i].wrong : run[i].how).replaceAll('|', '\\|'))
	console.log(`| \`${one.name}\` | ${cells.join(' | ')} |`)
})
console.log()
