// A simple receiver that does the whole way before it answers: verify, store the event, pay the order, write the receipt,
// mark the event as done. A repeated delivery of an event that is not done does it again; a crash before the receipt loses the
// receipt. Express, the driver and the library have their default settings, except for the write concern.
import { appendFile } from 'node:fs/promises'
import express from 'express'
import { MongoClient, MongoServerError } from 'mongodb'
import Stripe from 'stripe'
import { DURABLE } from '../receiver.ts'

const { NAIVE_MONGODB_URI = '', NAIVE_DB = '', NAIVE_SECRET = '', NAIVE_RECEIPTS = '' } = process.env
const DUPLICATE_KEY = 11_000

interface PaidOrder {
  readonly _id: string
}

const client = await new MongoClient(NAIVE_MONGODB_URI, { writeConcern: DURABLE }).connect()
const events = client.db(NAIVE_DB).collection('events')
const orders = client.db(NAIVE_DB).collection<PaidOrder>('orders')
await events.createIndex({ eventId: 1 }, { unique: true })

const app = express()
app.post('/webhooks', express.raw({ type: 'application/json' }), async (request, response) => {
  let event: Stripe.Event
  try {
    event = Stripe.webhooks.constructEvent(request.body, request.headers['stripe-signature'] ?? '', NAIVE_SECRET)
  } catch {
    response.status(400).json({ error: 'The signature does not match' })
    return
  }
  if (await storeNew(event)) {
    if (event.type === 'payment_intent.succeeded') await pay(event.data.object)
    await events.updateOne({ eventId: event.id }, { $set: { state: 'done', doneAt: new Date() } })
  }
  response.json({ received: true })
})

/** Stores the event. False if it is done already. */
async function storeNew(event: Stripe.Event): Promise<boolean> {
  try {
    await events.insertOne({ eventId: event.id, state: 'new', receivedAt: new Date(), event })
    return true
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === DUPLICATE_KEY)) throw error
    return (await events.findOne({ eventId: event.id, state: 'done' })) === null
  }
}

async function pay({ id, amount, currency, metadata }: Stripe.PaymentIntent): Promise<void> {
  const orderId = metadata.order_id ?? ''
  const payment = { id, provider: 'stripe', at: new Date() }
  const paid = await orders.updateOne(
    { _id: orderId, status: { $ne: 'paid' } },
    { $set: { status: 'paid', access: 'unlocked', payment }, $currentDate: { updatedAt: true } },
  )
  if (paid.modifiedCount === 0) return
  await appendFile(NAIVE_RECEIPTS, `${JSON.stringify({ orderId, paymentId: id, amount, currency })}\n`)
}

const server = app.listen(0, '127.0.0.1', () => process.send?.(server.address()))
process.on('disconnect', () => process.exit(0))
