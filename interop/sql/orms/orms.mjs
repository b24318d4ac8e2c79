// The same as orms.py by clients of Node: orms.mjs CLIENT URL.
import { createInterface } from 'node:readline'

const post = 'id, author_id, title, body, published, views, created_at'
const sql = {
  get: `SELECT ${post} FROM posts WHERE id = $1`,
  unique: 'SELECT id, name, email FROM authors WHERE email = $1',
  list: `SELECT ${post} FROM posts WHERE author_id = $1
    ORDER BY created_at DESC, id DESC LIMIT 20`,
  count: 'SELECT count(*) FROM posts WHERE author_id = $1',
  exists: 'SELECT 1 FROM posts WHERE author_id = $1 LIMIT 1',
  some: `SELECT ${post} FROM posts WHERE id <= $1 ORDER BY id`,
  authors: 'SELECT id, name, email FROM authors WHERE id = ANY($1) ORDER BY id',
  insert: "INSERT INTO posts (author_id, title) VALUES ($1, 'new') RETURNING id",
  update: "UPDATE posts SET views = views + 1, title = 'changed' WHERE id = $1",
  remove: 'DELETE FROM posts WHERE id = $1',
}
const email = (k) => `a${k}@example.org`
const authorsOf = (posts) => [...new Set(posts.map((p) => p.author_id))]

const clients = {
  async 'node-postgres'(url) {
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({ connectionString: url })
    const rows = async (text, value, by = pool) => (await by.query(text, [value])).rows
    return {
      connect: async () => (await pool.connect()).release(),
      get: (k) => rows(sql.get, k),
      unique: (k) => rows(sql.unique, email(k)),
      list: (k) => rows(sql.list, k),
      count: (k) => rows(sql.count, k),
      exists: async (k) => (await rows(sql.exists, k)).length > 0,
      async preload(k) {
        const posts = await rows(sql.some, 10 * k)
        return [posts, await rows(sql.authors, authorsOf(posts))]
      },
      insert: async (k) => (await rows(sql.insert, k))[0].id,
      update: (k) => rows(sql.update, k),
      delete: (k) => rows(sql.remove, k),
      async transaction(k) {
        const db = await pool.connect()
        await db.query('BEGIN')
        const found = await rows(sql.get, k, db)
        await db.query('COMMIT')
        db.release()
        return found
      },
    }
  },

  async 'postgres.js'(url) {
    const { default: postgres } = await import('postgres')
    const db = postgres(url, { onnotice() {} })
    const get = (k, by = db) => by`SELECT * FROM posts WHERE id = ${k}`
    return {
      connect: async () => void (await db`SELECT 1`),
      get,
      unique: (k) => db`SELECT * FROM authors WHERE email = ${email(k)}`,
      list: (k) => db`SELECT * FROM posts WHERE author_id = ${k}
        ORDER BY created_at DESC, id DESC LIMIT 20`,
      count: (k) => db`SELECT count(*) FROM posts WHERE author_id = ${k}`,
      exists: async (k) => (await db`SELECT 1 FROM posts WHERE author_id = ${k} LIMIT 1`).length > 0,
      async preload(k) {
        const posts = await db`SELECT * FROM posts WHERE id <= ${10 * k} ORDER BY id`
        const ids = db(authorsOf(posts))
        return [posts, await db`SELECT * FROM authors WHERE id IN ${ids} ORDER BY id`]
      },
      async insert(k) {
        return (await db`INSERT INTO posts (author_id, title) VALUES (${k}, 'new') RETURNING id`)[0].id
      },
      update: (k) => db`UPDATE posts SET views = views + 1, title = 'changed' WHERE id = ${k}`,
      delete: (k) => db`DELETE FROM posts WHERE id = ${k}`,
      transaction: (k) => db.begin((by) => get(k, by)),
    }
  },

  async knex(url) {
    const { default: knex } = await import('knex')
    const db = knex({ client: 'pg', connection: url })
    const get = (k, by = db) => by('posts').where({ id: k }).first()
    return {
      connect: async () => void (await db.raw('SELECT 1')),
      get: async (k) => (await get(k)) ?? null,
      unique: (k) => db('authors').where({ email: email(k) }).first(),
      list: (k) => db('posts').where({ author_id: k }).orderBy([
        { column: 'created_at', order: 'desc' }, { column: 'id', order: 'desc' }]).limit(20),
      count: (k) => db('posts').where({ author_id: k }).count(),
      async exists(k) {
        return (await db('posts').where({ author_id: k }).select(db.raw('1')).first()) !== undefined
      },
      async preload(k) {
        const posts = await db('posts').where('id', '<=', 10 * k).orderBy('id')
        return [posts, await db('authors').whereIn('id', authorsOf(posts)).orderBy('id')]
      },
      async insert(k) {
        return (await db('posts').insert({ author_id: k, title: 'new' }).returning('id'))[0].id
      },
      update: (k) => db('posts').where({ id: k }).update({ title: 'changed' }).increment('views'),
      delete: (k) => db('posts').where({ id: k }).del(),
      transaction: (k) => db.transaction((by) => get(k, by)),
    }
  },

  async Sequelize(url) {
    const { Sequelize, DataTypes: t, Op } = await import('sequelize')
    const define = { timestamps: false, underscored: true }
    const db = new Sequelize(url, { logging: false, define })
    const Author = db.define('authors', { name: t.TEXT, email: t.TEXT })
    const Post = db.define('posts', { authorId: t.INTEGER, title: t.TEXT, body: t.TEXT,
      published: { type: t.BOOLEAN, defaultValue: true }, views: { type: t.BIGINT, defaultValue: 0 },
      createdAt: { type: t.DATE, defaultValue: new Date('2026-01-01') } })
    Post.belongsTo(Author)
    const newest = [['createdAt', 'DESC'], ['id', 'DESC']]
    return {
      connect: () => db.authenticate(),
      get: (k) => Post.findByPk(k),
      unique: (k) => Author.findOne({ where: { email: email(k) } }),
      list: (k) => Post.findAll({ where: { authorId: k }, limit: 20, order: newest }),
      count: (k) => Post.count({ where: { authorId: k } }),
      async exists(k) {
        const how = { where: { authorId: k }, attributes: ['id'], order: ['id'] }
        return (await Post.findOne(how)) !== null
      },
      preload: (k) =>
        Post.findAll({ where: { id: { [Op.lte]: 10 * k } }, order: ['id'], include: Author }),
      insert: async (k) => (await Post.create({ authorId: k, title: 'new' })).id,
      async update(k) {
        const found = await Post.findByPk(k)
        await found.update({ title: 'changed', views: Number(found.views) + 1 })
      },
      delete: async (k) => void (await (await Post.findByPk(k)).destroy()),
      transaction: (k) => db.transaction((transaction) => Post.findByPk(k, { transaction })),
    }
  },

  async TypeORM(url) {
    await import('reflect-metadata')
    const { DataSource, EntitySchema, LessThanOrEqual } = (await import('typeorm')).default
    const id = { type: Number, primary: true, generated: true }
    const Author = new EntitySchema({ name: 'Author', tableName: 'authors',
      columns: { id, name: { type: 'text' }, email: { type: 'text', unique: true } } })
    const Post = new EntitySchema({ name: 'Post', tableName: 'posts',
      columns: { id, authorId: { name: 'author_id', type: 'int' }, title: { type: 'text' },
        body: { type: 'text', nullable: true }, published: { type: 'boolean', default: true },
        views: { type: 'bigint', default: 0 },
        createdAt: { name: 'created_at', type: 'timestamptz', default: '2026-01-01' } },
      relations: {
        author: { type: 'many-to-one', target: 'Author', joinColumn: { name: 'author_id' } } } })
    const db = new DataSource({ type: 'postgres', url, entities: [Author, Post] })
    const posts = db.getRepository(Post)
    const newest = { createdAt: 'DESC', id: 'DESC' }
    return {
      connect: async () => void (await db.initialize()),
      get: (k) => posts.findOneBy({ id: k }),
      unique: (k) => db.getRepository(Author).findOneBy({ email: email(k) }),
      list: (k) => posts.find({ where: { authorId: k }, order: newest, take: 20 }),
      count: (k) => posts.countBy({ authorId: k }),
      exists: (k) => posts.existsBy({ authorId: k }),
      preload: (k) => posts.find({ where: { id: LessThanOrEqual(10 * k) }, order: { id: 'ASC' },
        relations: { author: true } }),
      insert: async (k) => (await posts.save({ authorId: k, title: 'new' })).id,
      async update(k) {
        const found = await posts.findOneBy({ id: k })
        await posts.save({ ...found, title: 'changed', views: Number(found.views) + 1 })
      },
      delete: async (k) => void (await posts.remove(await posts.findOneBy({ id: k }))),
      transaction: (k) => db.transaction((by) => by.getRepository(Post).findOneBy({ id: k })),
    }
  },

  async drizzle(url) {
    const { drizzle } = await import('drizzle-orm/node-postgres')
    const t = await import('drizzle-orm/pg-core')
    const { eq, lte, desc, asc, sql: part, relations } = await import('drizzle-orm')
    const authors = t.pgTable('authors', {
      id: t.serial().primaryKey(), name: t.text(), email: t.text().unique() })
    const posts = t.pgTable('posts', {
      id: t.serial().primaryKey(), authorId: t.integer('author_id'), title: t.text(), body: t.text(),
      published: t.boolean().default(true), views: t.bigint({ mode: 'number' }).default(0),
      createdAt: t.timestamp('created_at', { withTimezone: true }).default(new Date('2026-01-01')) })
    const ofPosts = relations(posts, ({ one }) => ({
      author: one(authors, { fields: [posts.authorId], references: [authors.id] }) }))
    const db = drizzle(url, { schema: { authors, posts, ofPosts } })
    const get = (k, by = db) => by.select().from(posts).where(eq(posts.id, k))
    const of = (k) => eq(posts.authorId, k)
    return {
      connect: async () => void (await db.execute('SELECT 1')),
      get,
      unique: (k) => db.select().from(authors).where(eq(authors.email, email(k))),
      list: (k) => db.select().from(posts).where(of(k))
        .orderBy(desc(posts.createdAt), desc(posts.id)).limit(20),
      count: (k) => db.$count(posts, of(k)),
      async exists(k) {
        return (await db.select({ one: part`1` }).from(posts).where(of(k)).limit(1)).length > 0
      },
      preload: (k) => db.query.posts.findMany({ where: lte(posts.id, 10 * k),
        orderBy: asc(posts.id), with: { author: true } }),
      async insert(k) {
        const row = { authorId: k, title: 'new' }
        return (await db.insert(posts).values(row).returning({ id: posts.id }))[0].id
      },
      async update(k) {
        const change = { title: 'changed', views: part`views + 1` }
        await db.update(posts).set(change).where(eq(posts.id, k))
      },
      delete: async (k) => void (await db.delete(posts).where(eq(posts.id, k))),
      transaction: (k) => db.transaction((by) => get(k, by)),
    }
  },
}

const client = await clients[process.argv[2]](process.argv[3])
for await (const line of createInterface({ input: process.stdin })) {
  const [action, k] = line.split(' ')
  console.log(JSON.stringify((await client[action](Number(k))) ?? null))
}
process.exit(0)
