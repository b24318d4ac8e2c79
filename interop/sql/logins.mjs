// Logs in by the drivers of Node; see logins.py for what comes in and goes out.
import { createInterface } from 'node:readline'
import pg from 'pg'
import postgres from 'postgres'

const drivers = {
  async 'node-postgres'(at, secure) {
    const db = new pg.Client({ ...at, ssl: secure && { rejectUnauthorized: false } })
    db.on('error', () => {})
    await db.connect()
    const { rows } = await db.query('SELECT current_user AS name')
    await db.end()
    return rows[0].name
  },
  async 'postgres.js'(at, secure) {
    const db = postgres({ ...at, ssl: secure && 'require', max: 1, connect_timeout: 10, onnotice() {} })
    try {
      return (await db`SELECT current_user AS name`)[0].name
    } finally {
      await db.end({ timeout: 1 })
    }
  },
}
for await (const line of createInterface({ input: process.stdin })) {
  const [name, host, port, sslmode, binding, user, password] = line.split(' ')
  if (binding !== 'default') continue // neither has such a setting
  const at = { host, port: Number(port), user, password, database: 'postgres' }
  for (const [driver, logIn] of Object.entries(drivers)) {
    const result = await logIn(at, sslmode === 'require').catch((e) => `${e.message} ${e.hint ?? ''}`)
    console.log([driver, name, result.replaceAll(/\s+/g, ' ')].join('\t'))
  }
}
