import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { startSecuredMongod } from '@oncehook/kernel/testing/secured-mongod'
import { MongoClient } from 'mongodb'
import { expect, it } from 'vitest'

const page = readFileSync(resolve(import.meta.dirname, '../docs/how-to/deploy-three-machines.md'), 'utf8')

// A backup of a running system has an oplog. mongorestore sends each of its entries as `applyOps`, and each needs the right
// to do the same by hand, which the role `restore` lacks for updates and deletes.
it('the administrator of three machines may restore what changed during a backup', async () => {
  const [, listed = ''] = /user: 'administrator', .*roles: \[(.*?)\]/.exec(page) ?? []
  const roles = Array.from(listed.matchAll(/'(\w+)'/g), ([, role = '']) => role)
  await using server = await startSecuredMongod(process.env)
  const administrator = { name: 'administrator', password: 'of-a-test', roles }
  await server.createUser('admin', administrator)
  const records = server.db('oncehook_gateway').collection<{ _id: string; state?: string }>('events')
  await records.insertOne({ _id: 'kept' })
  await records.updateOne({ _id: 'kept' }, { $set: { state: 'done' } })
  await records.insertOne({ _id: 'expired' })
  await records.deleteOne({ _id: 'expired' })

  await using client = await new MongoClient(server.uriOf('admin', administrator).reveal()).connect()
  const oplog = client.db('local').collection('oplog.rs')
  const entries = await oplog.find({ ns: 'oncehook_gateway.events', op: { $in: ['i', 'u', 'd'] } }).toArray()
  expect(entries.map(({ op }) => op).toSorted()).toEqual(['d', 'i', 'i', 'u'])
  await records.deleteMany({})
  for (const { op, ns, o, o2 } of entries) {
    await client.db('admin').command({ applyOps: [{ op, ns, o, ...(o2 && { o2 }) }] })
  }
  expect(await records.find().toArray()).toEqual([{ _id: 'kept', state: 'done' }])
})
