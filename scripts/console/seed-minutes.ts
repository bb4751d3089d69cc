import type { Db } from 'mongodb'

const MINUTE_MS = 60_000
const WEEK = 7 * 24 * 60

/** Stores a week of minutes as a busy shop has them: quiet nights, and a bad quarter of an hour some minutes ago. */
export async function seedMinutes(db: Db, now: number): Promise<void> {
  const last = Math.floor(now / MINUTE_MS) * MINUTE_MS
  const stored = db.collection<{ _id: Date }>('minutes')
  await stored.deleteMany()
  await stored.insertMany(
    Array.from({ length: WEEK }, (_, ago) => {
      const _id = new Date(last - ago * MINUTE_MS)
      const hour = _id.getUTCHours() + _id.getUTCMinutes() / 60
      const received = Math.round(14 + 9 * Math.sin(((hour - 9) / 12) * Math.PI) + ((ago * 7_919) % 11) - 4)
      const bad = ago >= 18 && ago < 31 ? 31 - ago : 0
      return { _id, received, ...(bad === 0 ? usual(received, ago) : broken(received, bad)) }
    }),
  )
}

function usual(received: number, ago: number): object {
  return {
    ...{
      waiting: [ago % 4, 0, 0, 0],
      answered: { 0: Math.round(received / 5), 1: received, 4: ago % 9 === 0 ? 1 : 0 },
    },
    ...(ago % 13 === 5 ? { refused: { signature_invalid: 1 + (ago % 3) } } : {}),
    ...(ago % 23 === 0 ? { failed: { order_unknown: 1 } } : {}),
  }
}

/** A minute in which fulfilment has not answered, this many minutes after the first one. */
function broken(received: number, minute: number): object {
  return {
    waiting: [received, minute * 6, Math.max(0, minute - 8) * 5, 0],
    ...{ answered: { 1: received, 6: Math.round(received / 3) }, refused: {} },
    failed: { unavailable: received, order_unknown: minute % 3 },
  }
}
