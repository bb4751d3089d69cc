import { startProfile } from '@oncehook/kernel/testing/profile'
import { ObjectId } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { refusalOf } from '../testing/fulfilment-client.ts'
import { newOrderId, openOrders } from '../testing/open-orders.ts'
import { sampleOrder } from '../testing/samples.ts'
import { newOrder, ORDERS } from './stored/order-document.ts'

const system = await openOrders(process.env)
afterAll(() => system[Symbol.asyncDispose]())
const { fulfilment, orders, stored, put, pay } = system

describe('orders.list', () => {
  it('pages through all orders, newest first, without those deleted', async () => {
    await stored.deleteMany({})
    const ids = Array.from({ length: 7 }, newOrderId)
    for (const id of ids) await put(id)
    await pay(ids[2] ?? '')
    await orders.delete.mutate({ id: ids[4] ?? '' })
    const pages: string[][] = []
    let after: string | undefined
    do {
      const page = await orders.list.query({ limit: 2, ...(after === undefined ? {} : { after }) })
      pages.push(page.items.map(({ id }) => id))
      after = page.next ?? undefined
    } while (after !== undefined)
    expect(pages.map(({ length }) => length)).toEqual([2, 2, 2])
    expect(pages.flat()).toEqual(ids.toReversed().filter((id) => id !== ids[4]))
    const paid = await orders.list.query({ limit: 5, status: 'paid' })
    expect(paid).toMatchObject({ items: [{ id: ids[2] }], next: null })
  })

  it('reads a page from the index alone, in its order', async () => {
    const plan = await stored
      .find({ status: { $in: ['pending', 'payment_failed', 'paid'] }, createdAt: { $lte: new Date() } })
      .sort({ createdAt: -1, _id: -1 })
      .limit(21)
      .explain('queryPlanner')
    const stages = JSON.stringify(plan.queryPlanner.winningPlan)
    expect(stages).toContain('SORT_MERGE')
    expect(stages).not.toContain('"SORT"')
  })

  it('shows other orders, and the next pages, if other software wrote some of them', async () => {
    await stored.deleteMany({})
    const ids = Array.from({ length: 12 }, newOrderId)
    for (const id of ids) await put(id)
    const damages = [
      { items: 'none' },
      { items: [null] },
      { metadata: 'none' },
      { version: '1' },
      { createdAt: '2026-11-22' },
      { createdAt: new Date(-1) },
      { updatedAt: 7 },
      { payment: { id: 'pay_1' } },
    ]
    for (const [place, damage] of damages.entries()) {
      await stored.updateOne({ _id: ids[place + 1] ?? '' }, { $set: damage as object })
    }
    await stored.updateOne({ _id: ids[9] ?? '' }, { $unset: { payment: '' } })
    for (const _id of [7, 'no id', new ObjectId()]) {
      await stored.insertOne({ ...(await stored.findOne({ _id: ids[0] ?? '' })), _id } as never)
    }
    const shown: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await orders.list.query({ limit: 1, ...(after === undefined ? {} : { after }) })
      shown.push(...page.items.map(({ id }) => id))
      if (page.next === null) break
      after = page.next
    }
    expect(shown).toEqual([ids[11], ids[10], ids[0]])
    expect((await orders.list.query({ limit: 100 })).items.map(({ id }) => id)).toEqual(shown)
  })

  it.each([
    ['items', { items: 'none' }],
    ['a version', { version: '1' }],
    ['a time', { updatedAt: 7 }],
    ['a payment', { payment: { id: 'pay_1' } }],
    ['an e-mail', { email: { key: 'first', wrapped: 'no bytes', text: 'no bytes' } }],
    ['a note', { note: null }],
  ])('names beside the page an order without a readable %s; reading it gives the reason', async (what, damage) => {
    await stored.deleteMany({})
    const [whole, damaged] = [newOrderId(), newOrderId()]
    await put(whole)
    await put(damaged)
    await stored.updateOne({ _id: damaged }, { $set: damage as object })
    const refusal = { reason: 'order_unreadable', httpStatus: 409, code: 'CONFLICT' }
    expect(await refusalOf(orders.get.query({ id: damaged }))).toMatchObject(refusal)
    expect(await refusalOf(orders.put.mutate({ id: damaged, order: sampleOrder() }))).toMatchObject(refusal)
    const patch = { id: damaged, patch: { note: 'x' }, ifMatch: '*' }
    expect(await refusalOf(orders.patch.mutate(patch))).toMatchObject(refusal)
    expect(await orders.list.query({ limit: 10 })).toMatchObject({ items: [{ id: whole }], unreadable: [damaged] })
    if (what === 'a version') {
      expect(await refusalOf(orders.delete.mutate({ id: damaged }))).toMatchObject(refusal)
      return
    }
    expect(await orders.delete.mutate({ id: damaged })).toEqual({ deleted: true })
    expect((await put(damaged)).version).toBe(3)
  })

  it('examines little more than a page', async () => {
    await stored.deleteMany({})
    const made = sampleOrder()
    await stored.insertMany(Array.from({ length: 500 }, () => newOrder(newOrderId(), made, new Date())))
    await using profile = await startProfile(fulfilment.db)
    const { next } = await orders.list.query({ limit: 10 })
    await orders.list.query({ limit: 10, after: next ?? '' })
    // The worker looks for receipts at the same time.
    const examined = (await profile.examined(ORDERS)).filter(({ plan }) => !plan.includes('receipts'))
    expect(examined).toHaveLength(2)
    for (const { keys } of examined) expect(keys).toBeLessThan(50)
  })

  it('refuses an invalid cursor and a limit out of bounds', async () => {
    for (const input of [{ limit: 2, after: 'x' }, { limit: 2, after: 'bnVsbA' }, { limit: 0 }, { limit: 101 }]) {
      expect(await refusalOf(orders.list.query(input))).toMatchObject({ reason: 'invalid_request', httpStatus: 400 })
    }
  })
})
