import { MAJORITY } from '@oncehook/kernel/mongo/mongo-connection'
import { Binary, type Db } from 'mongodb'
import { EVENTS } from './event-document.ts'

/** Empties records whose retention has ended but whose key must stay, because their scheme signs no time. */
export async function stripOldBodies(db: Db): Promise<void> {
  const q = { stripAt: { $type: 'date' }, $expr: { $lte: ['$stripAt', '$$NOW'] } }
  const u = [
    { $set: { raw: { $literal: new Binary(Buffer.alloc(0)) }, headers: { $literal: {} } } },
    { $unset: ['stripAt'] },
  ]
  await db.command({ update: EVENTS, updates: [{ q, u, multi: true }], writeConcern: MAJORITY })
}
