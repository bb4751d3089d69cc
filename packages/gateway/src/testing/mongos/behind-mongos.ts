import { Secret } from '@oncehook/kernel/secret'
import { startOldMongos } from '@oncehook/kernel/testing/old-mongos'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Document } from 'mongodb'
import { EVENTS } from '../../inbox/event-document.ts'

/** Opens a database that is reached through what claims to be a mongos. */
export async function openBehindMongos(env: NodeJS.ProcessEnv): Promise<TestDatabase> {
  await using stack = new AsyncDisposableStack()
  const mongod = stack.use(await testDatabase(env))
  const mongos = stack.use(await startOldMongos(Number(new URL(mongod.uri.reveal()).port)))
  const owned = stack.move()
  const uri = new Secret(`mongodb://127.0.0.1:${mongos.port}/`)
  return { ...mongod, uri, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** The filters with which a command on the events names records; an inserted record counts as one. */
export function filtersOf({ insert, update, find, aggregate, ...command }: Document): Document[] {
  const { documents, updates, filter, pipeline } = command
  if (insert === EVENTS) return documents
  if (update === EVENTS) return updates.map(({ q }: Document) => q)
  if (find === EVENTS) return filter.$or?.every((one: Document) => 'provider' in one) ? filter.$or : [filter]
  return aggregate === EVENTS ? [pipeline[0].$match] : []
}

/** The slots that a filter names. */
export function slotsIn({ slot }: Document): unknown[] {
  return typeof slot === 'object' && slot !== null ? slot.$in : [slot]
}
