// A simple receiver with the provider's own library: verify, insert, answer. Express, the driver and the library have
// their default settings, except for the write concern.
import express from 'express'
import { MongoClient, MongoServerError } from 'mongodb'
import Stripe from 'stripe'
import { DURABLE } from '../receiver.ts'

const { NAIVE_MONGODB_URI = '', NAIVE_DB = '', NAIVE_SECRET = '' } = process.env
const DUPLICATE_KEY = 11_000

const client = await new MongoClient(NAIVE_MONGODB_URI, { writeConcern: DURABLE }).connect()
const events = client.db(NAIVE_DB).collection('events')
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
  try {
    await events.insertOne({ eventId: event.id, type: event.type, receivedAt: new Date(), event })
  } catch (error) {
    const stored = error instanceof MongoServerError && error.code === DUPLICATE_KEY
    if (!stored) {
      response.status(500).json({ error: 'The event could not be stored' })
      return
    }
  }
  response.json({ received: true })
})

const server = app.listen(0, '127.0.0.1', () => process.send?.(server.address()))
process.on('disconnect', () => process.exit(0))
