import { readFile } from 'node:fs/promises'
import { createHandler } from '@oncehook/handler'
import { postgres } from '@oncehook/handler/postgres'
import pg from 'pg'
import { changeSubscription } from './change-subscription.ts'
import { printFarewell } from './print-farewell.ts'

const { DATABASE_URL, WEBHOOK_SECRET, PORT = '8091' } = process.env
if (!DATABASE_URL || !WEBHOOK_SECRET) {
  console.error('Set DATABASE_URL and WEBHOOK_SECRET: README.md says how')
  process.exit(78)
}

const pool = new pg.Pool({ connectionString: DATABASE_URL })
await pool.query(await readFile(new URL('../schema.sql', import.meta.url), 'utf8'))

const handler = createHandler({
  name: 'subscriptions',
  store: postgres(pool),
  secrets: WEBHOOK_SECRET,
  on: {
    'customer.subscription.created': changeSubscription,
    'customer.subscription.updated': changeSubscription,
    'customer.subscription.deleted': changeSubscription,
  },
  later: { farewell: printFarewell },
})
const port = await handler.listen(Number(PORT))
console.log(`Subscriptions are received at http://127.0.0.1:${port}/webhooks`)

async function stop(): Promise<void> {
  await handler.close()
  await pool.end()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
