import { MongoClient, ObjectId } from 'mongodb'
import pg from 'pg'
import { expect, it } from 'vitest'
import { messagesOf } from '../mongo/mongo-documents.ts'
import { createPostgresOutbox } from '../postgres/postgres-outbox.ts'
import { openTestStores } from '../testing/open-test-stores.ts'

const stores = await openTestStores(process.env)

const MANY = 2_000
const NAMES = ['email', 'thank']
const claim = { handler: 'billing', names: NAMES, most: 5, leaseMs: 60_000 }
const sorted = (claimed: readonly { readonly name: string; readonly key: string }[]) =>
  claimed.map(({ name, key }) => `${name} ${key}`).toSorted()
const expected = ['email billing:first:1', ...[1, 2, 3, 4].map((index) => `thank billing:${index}:1`)]

/** A node of a plan of PostgreSQL. Its rows are the mean of its loops. */
interface PlanNode {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** How many rows of tables and indexes a plan has read. */
function rowsRead(node: PlanNode): number {
  const { 'Actual Rows': rows, 'Rows Removed by Filter': removed = 0, 'Actual Loops': loops } = node
  const own = / Scan$/.test(node['Node Type']) ? (rows + removed) * loops : 0
  return (node.Plans ?? []).reduce((sum, plan) => sum + rowsRead(plan), own)
}

it('do not make a claim slower on MongoDB, however many are due', async () => {
  const { url, store } = stores.onMongo
  await using client = await new MongoClient(url).connect()
  const db = client.db()
  const messageAt = (name: string, key: string, dueAt: Date) => ({
    ...{ _id: new ObjectId(), handler: 'billing', name, key, payload: 'null', attempt: 0, dead: false },
    ...{ createdAt: dueAt, dueAt },
  })
  const at = Date.now() - 60_000
  const many = Array.from({ length: MANY }, (_, index) => [
    messageAt('mail', `billing:${index + 1}:2`, new Date(at)),
    messageAt('thank', `billing:${index + 1}:1`, new Date(at + 2 + index)),
  ])
  await messagesOf(db).insertMany([...many.flat(), messageAt('email', 'billing:first:1', new Date(at + 1))])
  await db.command({ profile: 2, slowms: 0 })
  try {
    expect(sorted(await store.outbox.claim(claim))).toEqual(expected)
  } finally {
    await db.command({ profile: 0 })
  }
  const filter = { op: 'command', 'command.findAndModify': 'oncehook_outbox' }
  const operations = await db.collection('system.profile').find(filter).toArray()
  expect(operations).toHaveLength(claim.most)
  for (const { keysExamined, docsExamined } of operations) {
    expect(keysExamined).toBeLessThan(10)
    expect(docsExamined).toBeLessThan(10)
  }
})

it('do not make a claim slower on PostgreSQL, however many are due', async (context) => {
  await using pool = await poolOf(stores.onPostgres(context).url)
  const at = new Date(Date.now() - 3_600_000)
  await pool.query(
    `insert into oncehook_outbox (handler, name, key, payload, due_at)
      select 'billing', name, 'billing:' || index || ':' || position, 'null', $2::timestamptz + index * delay
      from generate_series(1, $1::int) as index,
        (values ('mail', 2, interval '0'), ('thank', 1, interval '1 second')) as message (name, position, delay)`,
    [MANY, at],
  )
  await pool.query('analyze oncehook_outbox')
  await pool.query(
    `insert into oncehook_outbox (handler, name, key, payload, due_at)
      values ('billing', 'email', 'billing:first:1', 'null', $1::timestamptz + interval '1 millisecond')`,
    [at],
  )
  const statements: [text: string, values: unknown[]][] = []
  const client = await pool.connect()
  const recording: pg.PoolClient = Object.create(client, {
    query: {
      value(text: string, values: unknown[]) {
        statements.push([text, values])
        return client.query(text, values)
      },
    },
  })
  const outbox = createPostgresOutbox({ connect: async () => recording, on: () => undefined })
  expect(sorted(await outbox.claim(claim))).toEqual(expected)
  const [[text, values]] = statements as [(typeof statements)[number]]
  const { rows } = await pool.query(`explain (analyze, format json) ${text}`, values)
  expect(rowsRead(rows[0]['QUERY PLAN'][0].Plan)).toBeLessThan(50)
})

/** A pool that is closed at the end of its scope. */
async function poolOf(connectionString: string): Promise<pg.Pool & AsyncDisposable> {
  const pool = new pg.Pool({ connectionString })
  return Object.assign(pool, { [Symbol.asyncDispose]: () => pool.end() })
}
