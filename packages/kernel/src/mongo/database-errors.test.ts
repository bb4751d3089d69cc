import { MongoNetworkError, MongoServerError, MongoServerSelectionError } from 'mongodb'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { unavailable } from '../http/error-codes.ts'
import { createDatabaseErrors } from './database-errors.ts'

async function counted(registry: Registry): Promise<Record<string, number>> {
  const samples = (await registry.metrics()).matchAll(/\{class="(\w+)"\} (\d+)/g)
  return Object.fromEntries(Array.from(samples, ([, name = '', value]) => [name, Number(value)]))
}

describe('createDatabaseErrors', () => {
  it('counts errors of a driver by class, even as the cause of another error', async () => {
    const registry = new Registry()
    const { count } = createDatabaseErrors(registry)
    count(new MongoServerError({ code: 189, errmsg: 'stepped down' }))
    count(new MongoServerError({ code: 189, errmsg: 'stepped down' }))
    count(unavailable({}, { cause: new Error('wrapped', { cause: new MongoNetworkError('closed') }) }))
    count(new MongoServerSelectionError('nobody there', {} as never))
    expect(await counted(registry)).toEqual({ server_189: 2, MongoNetworkError: 1, MongoServerSelectionError: 1 })
  })

  it('counts errors in a reply, except duplicate keys', async () => {
    const registry = new Registry()
    const { countReply } = createDatabaseErrors(registry)
    countReply({ ok: 1, n: 1 })
    countReply({ ok: 1, writeErrors: [{ code: 11_000 }, { code: 8000 }], writeConcernError: { code: 64 } })
    expect(await counted(registry)).toEqual({ server_8000: 1, write_concern_64: 1 })
  })

  it('counts errors that methods of an object throw, and throws them again', async () => {
    const registry = new Registry()
    const broken = new MongoNetworkError('closed')
    const watched = createDatabaseErrors(registry).watch({
      name: 'some',
      good: async (text: string) => text.toUpperCase(),
      bad: async () => {
        throw broken
      },
    })
    expect(await watched.good('a')).toBe('A')
    expect(watched.name).toBe('some')
    await expect(watched.bad()).rejects.toBe(broken)
    expect(await counted(registry)).toEqual({ MongoNetworkError: 1 })
  })
})
