import { ObjectId } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { newOrderId, openOrders } from '../testing/open-orders.ts'

const system = await openOrders(process.env)
afterAll(() => system[Symbol.asyncDispose]())
const { orders, stored, put, pay } = system

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
})
