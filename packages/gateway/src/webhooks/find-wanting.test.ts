import { lineOf } from '@oncehook/queue/order/turns'
import { describe, expect, it, vi } from 'vitest'
import type { HandlerSettings, Handlers, WantedEvents } from '../handlers/handler-settings.ts'
import {
  type FindWanting,
  type OfferedDelivery,
  type OfferedEvent,
  prepareMismatches,
  prepareWanting,
} from './find-wanting.ts'

function handlersOf(wanted: Readonly<Record<string, readonly WantedEvents[]>>): Handlers {
  const entries = Object.entries(wanted).map(
    ([name, events]) => [name, { name, events, orderBy: null } as unknown as HandlerSettings] as const,
  )
  return new Map(entries)
}

interface Offered extends OfferedDelivery {
  readonly event: OfferedEvent
}

function offer(type: string, members: Partial<Offered> = {}): Offered {
  return { provider: 'stripe', event: { type, facts: { orderId: '' } }, rawBody: Buffer.from('{}'), ...members }
}

/** The search for a delivery of one event. */
function searchOf(
  handlers: Parameters<typeof prepareWanting>[0],
): (offered: Offered) => ReturnType<ReturnType<FindWanting>> {
  const find = prepareWanting(handlers)
  return ({ event, ...delivery }) => find(delivery)(event)
}

describe('prepareWanting', () => {
  it.each([
    ['invoice.paid', 'invoice.paid', true],
    ['invoice.paid', 'invoice.paid.late', false],
    ['customer.subscription.*', 'customer.subscription.deleted', true],
    ['customer.subscription.*', 'customer.subscription.trial.ended', true],
    ['customer.subscription.*', 'customer.subscription', false],
    ['customer.subscription.*', 'customer.subscriptions.deleted', false],
    ['*', 'anything', true],
  ])('compares the pattern %s with the type %s: %s', (pattern, type, isWanted) => {
    const find = searchOf(handlersOf({ shop: [{ types: [pattern] }] }))
    expect(find(offer(type))).toEqual(isWanted ? ['shop'] : [])
  })

  it('returns every handler that wants the event, once, in the order of the setting', () => {
    const any = { types: ['*'] }
    const find = searchOf(handlersOf({ zoo: [any, any], none: [{ types: ['other'] }], all: [any] }))
    expect(find(offer('invoice.paid'))).toEqual(['zoo', 'all'])
  })

  it('compares the provider', () => {
    const find = searchOf(handlersOf({ shop: [{ provider: 'stripe', types: ['*'] }] }))
    expect(find(offer('a'))).toEqual(['shop'])
    expect(find(offer('a', { provider: 'acme' }))).toEqual([])
  })

  it('compares values of the body with their types, and finds nothing in a body that is no JSON', () => {
    const where = [{ '/data/object/livemode': true, '/account': 'acct_1' }]
    const find = searchOf(handlersOf({ shop: [{ types: ['*'], where }] }))
    const from = (body: string) => find(offer('a', { rawBody: Buffer.from(body) }))
    expect(from('{"account":"acct_1","data":{"object":{"livemode":true}}}')).toEqual(['shop'])
    expect(from('{"account":"acct_1","data":{"object":{"livemode":"true"}}}')).toEqual([])
    expect(from('{"data":{"object":{"livemode":true}}}')).toEqual([])
    expect(from('account=acct_1')).toEqual([])
  })

  it('names the line of a task whose handler has orderBy, if the body has a value there', () => {
    const ordered = { name: 'shop', events: [{ types: ['*'] }], orderBy: '/data/id' } as unknown as HandlerSettings
    const find = searchOf(new Map([['shop', ordered]]))
    const from = (body: string) => find(offer('a', { rawBody: Buffer.from(body) }))
    expect(from('{"data":{"id":"sub_1"}}')).toEqual([{ handler: 'shop', line: lineOf('sub_1') }])
    expect(from('{"data":{"id":null}}')).toEqual(['shop'])
    expect(from('{"data":{}}')).toEqual(['shop'])
    expect(from('id=sub_1')).toEqual(['shop'])
  })

  it('looks into the event of a body with several, and parses the body once', () => {
    const where = { '/event': 'bounce' }
    const ordered = { name: 'mail', events: [{ types: ['*'], where }], orderBy: '/email' } as unknown as HandlerSettings
    const items = [
      { event: 'bounce', email: 'a@example.com' },
      { event: 'open', email: 'b@example.com' },
    ]
    const parse = vi.spyOn(JSON, 'parse')
    const wants = prepareWanting(new Map([['mail', ordered]]))({
      provider: 'sendgrid',
      rawBody: Buffer.from(JSON.stringify({ events: items })),
    })
    const at = (index: number) => wants({ type: 'mail', facts: { orderId: '', pointer: `/events/${index}` } })
    expect([at(0), at(1), at(2)]).toEqual([[{ handler: 'mail', line: lineOf('a@example.com') }], [], []])
    expect(parse).toHaveBeenCalledTimes(1)
    parse.mockRestore()
  })

  it('offers an event to handlers that only fulfilment may not have, and one of the wrong mode or of uncertain content to nobody', () => {
    const find = searchOf(handlersOf({ shop: [{ types: ['*'] }] }))
    const withheld = (reason: 'not_expected' | 'effect_not_allowed' | 'ambiguous') =>
      find(
        offer('payment.succeeded', { event: { type: 'payment.succeeded', facts: { orderId: '', withheld: reason } } }),
      )
    expect(withheld('effect_not_allowed')).toEqual(['shop'])
    expect(withheld('not_expected')).toEqual([])
    expect(withheld('ambiguous')).toEqual([])
  })
})

describe('prepareMismatches', () => {
  const rawBody = Buffer.from('{"livemode":false}')
  const find = (...events: WantedEvents[]) => {
    const { event, ...delivery } = offer('invoice.paid', { rawBody })
    return prepareMismatches(delivery)(event, events)
  }

  it('names the first property of each entry that differs', () => {
    const where = [{ '/livemode': true, '/account': 'acct_1' }]
    expect(find({ provider: 'acme', types: ['other'] }, { types: ['other'], where }, { types: ['*'], where })).toEqual([
      { differs: 'provider' },
      { differs: 'types' },
      { differs: 'where', pointer: '/livemode' },
    ])
  })

  it('finds none if one entry matches', () => {
    expect(find({ types: ['other'] }, { types: ['invoice.*'], where: [{ '/livemode': false }] })).toBeNull()
  })
})
