import { signDeliveries } from '../load/signed-deliveries.ts'
import { startMeter } from '../measure/meter.ts'
import { DURABLE } from '../receivers/receiver.ts'
import type { Trial } from '../trial.ts'

const GROUP = 64
const MOST_PER_SECOND = 40_000
const WRITE_CONCERN = { w: DURABLE.w, j: DURABLE.journal } as const // with the server's names

/** Inserts naive's records 64 at a time, without HTTP: what `mongod` and its driver can store durably on this machine. */
export function createGroupedInsertsTrial({ name, title }: Pick<Trial, 'name' | 'title'>): Trial {
  return {
    name,
    title,
    async run({ setup, run, effort }) {
      const db = setup.database(`grouped_${run}`)
      await db.collection('events').createIndex({ eventId: 1 }, { unique: true })
      const count = Math.ceil((MOST_PER_SECOND * effort.measureMs) / 1_000)
      const batch = { url: 'http://127.0.0.1/', secret: setup.secret, count, mix: 'unique', orderPrefix: run } as const
      const records = signDeliveries(batch, Date.now()).map(({ eventId, request }) => {
        const event = JSON.parse(request.toString('utf8', request.indexOf('\r\n\r\n') + 4))
        return { eventId, type: event.type, receivedAt: new Date(), event }
      })
      try {
        const meter = startMeter({ mongod: setup.mongodPid, benchmark: process.pid })
        const beganAt = performance.now()
        let inserted = 0
        while (inserted < records.length && performance.now() - beganAt < effort.measureMs) {
          const documents = records.slice(inserted, inserted + GROUP)
          await db.command({ insert: 'events', documents, ordered: false, writeConcern: WRITE_CONCERN })
          inserted += documents.length
        }
        const seconds = (performance.now() - beganAt) / 1_000
        const { processes, foreignShare } = meter()
        const each = (ms = 0): number => (ms * 1_000) / inserted
        const lost = inserted - (await db.collection('events').countDocuments())
        const costs = { receiverUs: each(processes.benchmark), mongodUs: each(processes.mongod) }
        return { figures: { perSecond: inserted / seconds, ...costs }, lost, failed: {}, foreignShare }
      } finally {
        await db.dropDatabase()
      }
    },
  }
}
