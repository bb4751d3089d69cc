// A service with @oncehook/handler that stores each payment in PostgreSQL.
import { createHandler } from '@oncehook/handler'
import { type PostgresTransaction, postgres } from '@oncehook/handler/postgres'
import pg from 'pg'

const { HANDLER_DATABASE_URL, HANDLER_SECRET = '' } = process.env

const pool = new pg.Pool({ connectionString: HANDLER_DATABASE_URL })
const handler = createHandler<PostgresTransaction<pg.PoolClient>>({
  name: 'bench',
  store: postgres(pool),
  secrets: HANDLER_SECRET,
  on: {
    async '*'({ body }, tx) {
      const { eventId, objectId } = body as { eventId: string; objectId: string }
      await tx.query('insert into payments (event_id, payment_id) values ($1, $2)', [eventId, objectId])
    },
  },
})
process.send?.({ port: await handler.listen(0) })
process.on('disconnect', () => process.exit(0))
