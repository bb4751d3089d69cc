import { randomUUID } from 'node:crypto'
import type { Db } from 'mongodb'
import { SettingsError } from '../../settings.ts'

// The collection of the identity marker; it holds one document.
const DEPLOYMENT = 'deployment'

/** Identity of a deployment: the name of its replica set, and the random marker in the database. */
export interface DeploymentIdentity {
  readonly setName: string | null
  /** Null if the database has none. */
  readonly mark: string | null
}

interface Mark {
  readonly _id: 'mark'
  readonly value: string
}

/** Reads the identity of a deployment, and adds a marker to a database without one. */
export async function ensureIdentity(db: Db): Promise<DeploymentIdentity> {
  const present = await readIdentity(db)
  if (present.mark !== null) return present
  const value = { $ifNull: ['$value', randomUUID()] }
  await db.collection<Mark>(DEPLOYMENT).updateOne({ _id: 'mark' }, [{ $set: { value } }], { upsert: true })
  return readIdentity(db)
}

/**
 * Rejects a deployment other than the known one before anything is written there, because it lacks records that this
 * process considers stored.
 * @throws SettingsError
 */
export async function assertSameDeployment(db: Db, known: DeploymentIdentity): Promise<void> {
  const { setName, mark } = await readIdentity(db)
  if (setName === known.setName && mark === known.mark) return
  throw new SettingsError(['MONGODB_URI now names a different deployment: restart to use it'])
}

async function readIdentity(db: Db): Promise<DeploymentIdentity> {
  const { setName } = await db.command({ hello: 1 })
  const found = await db.collection<Mark>(DEPLOYMENT).findOne({ _id: 'mark' })
  return { setName: typeof setName === 'string' ? setName : null, mark: found?.value ?? null }
}
