// A simple receiver that stores each payment once in PostgreSQL: verify, and then the key and the payment in one
// transaction. Express, the driver and the library have their default settings.
import express from 'express'
import pg from 'pg'
import Stripe from 'stripe'

const { NAIVE_DATABASE_URL, NAIVE_SECRET = '' } = process.env

const pool = new pg.Pool({ connectionString: NAIVE_DATABASE_URL })

const app = express()
app.post('/webhooks', express.raw({ type: 'application/json' }), async (request, response) => {
  let event: Stripe.Event
  try {
    event = Stripe.webhooks.constructEvent(request.body, request.headers['stripe-signature'] ?? '', NAIVE_SECRET)
  } catch {
    response.status(400).json({ error: 'The signature does not match' })
    return
  }
  await payOnce(event)
  response.json({ received: true })
})

async function payOnce(event: Stripe.Event): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const { rowCount } = await client.query('insert into keys (key) values ($1) on conflict do nothing', [event.id])
    if (rowCount === 1) {
      const { id } = event.data.object as Stripe.PaymentIntent
      await client.query('insert into payments (event_id, payment_id) values ($1, $2)', [event.id, id])
    }
    await client.query('commit')
  } finally {
    client.release()
  }
}

const server = app.listen(0, '127.0.0.1', () => process.send?.(server.address()))
process.on('disconnect', () => process.exit(0))
