import { type ClaimedMessage, MOST_COUNTED, type Outbox } from '../store.ts'
import { type PostgresClient, type PostgresPool, queryOnce } from './postgres-client.ts'

// Each name separately: the index then finds its first messages, however many messages of other names are due.
const CLAIM = `with due as (
    select message.id
    from unnest($2::text[]) as wanted (name) cross join lateral (
      select id, due_at from oncehook_outbox
      where handler = $1 and name = wanted.name and dead_at is null and due_at <= now()
      order by due_at limit $3 for update skip locked
    ) as message
    order by message.due_at limit $3
  )
  update oncehook_outbox as message
  set attempt = message.attempt + 1, due_at = now() + make_interval(secs => $4)
  from due where message.id = due.id
  returning message.id::text, message.name, message.key, message.payload, message.attempt`

const MINE = 'where id = $1 and attempt = $2'
const RETRY = `update oncehook_outbox set due_at = now() + make_interval(secs => $3), reason = $4 ${MINE}`
const GIVE_BACK = `update oncehook_outbox set due_at = now(), attempt = attempt - 1, reason = $3 ${MINE}`
const MARK_DEAD = `update oncehook_outbox set dead_at = now(), reason = $3 ${MINE}`
const OF_HANDLER = 'from oncehook_outbox where handler = $1'
const COUNT = `select
    (select count(*)::int from (select ${OF_HANDLER} and dead_at is null limit ${MOST_COUNTED}) as waiting) as waiting,
    (select count(*)::int from (select ${OF_HANDLER} and dead_at is not null limit ${MOST_COUNTED}) as dead) as dead,
    coalesce((
      select extract(epoch from now() - created_at) ${OF_HANDLER} and dead_at is null order by created_at limit 1
    ), 0)::float as "oldestSeconds"`

/** The messages of `tx.later` in PostgreSQL. Several workers may claim at once: each skips the rows of the others. */
export function createPostgresOutbox(pool: PostgresPool<PostgresClient>): Outbox {
  return {
    async claim({ handler, names, most, leaseMs }) {
      const values = [handler, names, most, leaseMs / 1_000]
      return (await queryOnce<ClaimedMessage>(pool, CLAIM, values)).rows
    },
    async remove({ id, attempt }) {
      const { rows } = await queryOnce(pool, `delete from oncehook_outbox ${MINE} returning 1`, [id, attempt])
      return rows.length > 0
    },
    async retry({ id, attempt }, afterMs, reason) {
      await queryOnce(pool, RETRY, [id, attempt, afterMs / 1_000, reason])
    },
    async release({ id, attempt }, reason) {
      await queryOnce(pool, GIVE_BACK, [id, attempt, reason])
    },
    async markDead({ id, attempt }, reason) {
      await queryOnce(pool, MARK_DEAD, [id, attempt, reason])
    },
    async count(handler) {
      const { rows } = await queryOnce<Awaited<ReturnType<Outbox['count']>>>(pool, COUNT, [handler])
      return rows[0] ?? { waiting: 0, dead: 0, oldestSeconds: 0 }
    },
  }
}
