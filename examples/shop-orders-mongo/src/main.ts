import { createHandler } from '@oncehook/handler'
import { mongo } from '@oncehook/handler/mongo'
import { MongoClient } from 'mongodb'
import { markPaid } from './mark-paid.ts'
import { printConfirmation } from './print-confirmation.ts'

const { MONGODB_URI, WEBHOOK_SECRET, PORT = '8091' } = process.env
if (!MONGODB_URI || !WEBHOOK_SECRET) {
  console.error('Set MONGODB_URI and WEBHOOK_SECRET: README.md says how')
  process.exit(78)
}

const client = await new MongoClient(MONGODB_URI).connect()
const handler = createHandler({
  name: 'orders',
  store: mongo(client),
  secrets: WEBHOOK_SECRET,
  on: { 'payment.succeeded': markPaid },
  later: { confirmation: printConfirmation },
})
const port = await handler.listen(Number(PORT))
console.log(`Payments are received at http://127.0.0.1:${port}/webhooks`)

async function stop(): Promise<void> {
  await handler.close()
  await client.close()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
