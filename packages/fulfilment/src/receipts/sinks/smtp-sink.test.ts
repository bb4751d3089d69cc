import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { createTestAuthority } from '@oncehook/kernel/testing/certificates/issue-certificate'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type MailFaults, startMailServer } from '../../testing/mail-server.ts'
import { type Receipt, receiptOutcomeUnknown, receiptRefused } from '../receipt-sink.ts'
import { createSmtpSink } from './smtp-sink.ts'

const receipt: Receipt = {
  key: 'rcpt_1',
  orderId: 'o1',
  paymentId: 'p1',
  customerId: 'c1',
  email: 'customer@example.com',
  amount: 1999,
  currency: 'EUR',
  paidAt: '2026-11-21T10:00:00.000Z',
}
const signal = AbortSignal.timeout(60_000)
const authority = await createTestAuthority('tests')
const tls = await authority.issue('mail', ['127.0.0.1', 'localhost'])

/** A mail server, and a sink that sends to it. */
async function mailServer(faults: MailFaults = {}, requireTls = false) {
  await using resources = new AsyncDisposableStack()
  const { url, taken } = resources.use(await startMailServer(faults))
  const sink = createSmtpSink({ url, from: 'Shop <shop@example.com>', requireTls })
  resources.defer(() => sink.close())
  const owned = resources.move()
  return { taken, sink, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

describe('an smtp: sink', () => {
  it('mails the receipt to the customer, amounts as people write them', async () => {
    await using there = await mailServer()
    await there.sink.send(receipt, signal)
    expect(there.taken).toHaveLength(1)
    expect(there.taken[0]?.to).toEqual(['customer@example.com'])
    expect(there.taken[0]?.mail).toContain('From: Shop <shop@example.com>')
    expect(there.taken[0]?.mail).toContain('19.99 EUR')
    expect(there.taken[0]?.mail).toContain('Message-ID: <rcpt_1@oncehook>')
  })

  it('refuses permanently if there is no recipient', async () => {
    await using there = await mailServer()
    await expect(there.sink.send({ ...receipt, email: null }, signal)).rejects.toSatisfy(receiptRefused.is)
    expect(there.taken).toHaveLength(0)
  })

  it('refuses a receipt permanently if the server does', async () => {
    await using there = await mailServer({ recipient: 550 })
    await expect(there.sink.send(receipt, signal)).rejects.toSatisfy(receiptRefused.is)
  })

  it.each<[string, MailFaults]>([
    ['where the server asks for it', { data: 451 }],
    ['where the mailbox is full', { data: 552 }],
    ['where the mailbox is full before the mail is sent', { recipient: 552 }],
    ['where the server takes no mail at all', { greeting: 554 }],
    ['where the server takes none from us', { sender: 550 }],
  ])('may be tried again %s', async (_, faults) => {
    await using there = await mailServer(faults)
    const failure = await there.sink.send(receipt, signal).catch((error: unknown) => error)
    expect(receiptRefused.is(failure) || receiptOutcomeUnknown.is(failure)).toBe(false)
    expect(failure).toBeInstanceOf(Error)
    const concernsOne = there.sink.ownCodes?.includes((failure as { code: string }).code)
    expect(concernsOne).toBe(faults.data !== undefined || faults.recipient !== undefined)
  })

  it('may be tried again where no server answers', async () => {
    await using there = await mailServer()
    const url = new URL('smtp://127.0.0.1:1')
    const failure = await createSmtpSink({ url, from: 'a@example.com', requireTls: false })
      .send(receipt, signal)
      .catch((error) => error)
    expect(receiptOutcomeUnknown.is(failure)).toBe(false)
    expect(failure).toMatchObject({ code: expect.any(String) })
    expect(there.taken).toHaveLength(0)
  })

  it('reports an unknown outcome if the server disconnects before it answers', async () => {
    await using there = await mailServer({ data: 'hang up' })
    await expect(there.sink.send(receipt, signal)).rejects.toSatisfy(receiptOutcomeUnknown.is)
  })

  it('gives no mail to a server without TLS where TLS is required, and may try again', async () => {
    await using there = await mailServer({}, true)
    await expect(there.sink.send(receipt, signal)).rejects.toMatchObject({
      code: 'mail_without_tls',
      message: expect.stringContaining('requireTLS=false'),
    })
    expect(there.taken).toHaveLength(0)
  })

  it('sends no mail to a server with an untrusted certificate', async () => {
    await using there = await mailServer({ tls }, true)
    await expect(there.sink.send(receipt, signal)).rejects.toMatchObject({ code: 'mail_without_tls' })
    expect(there.taken).toHaveLength(0)
  })

  it('mails by STARTTLS where TLS is required', async () => {
    const usual = getCACertificates('default')
    setDefaultCACertificates([...usual, authority.ca])
    onTestFinished(() => setDefaultCACertificates(usual))
    await using there = await mailServer({ tls }, true)
    await there.sink.send(receipt, signal)
    expect(there.taken).toMatchObject([{ to: ['customer@example.com'], secure: true }])
  })

  it('shows a customer of several lines on one', async () => {
    await using there = await mailServer()
    const customerId = 'c1\r\n\r\nYour account is locked\u2028go to\u0085http://evil.example'
    await there.sink.send({ ...receipt, customerId }, signal)
    const body = there.taken[0]?.mail.split('\r\n\r\n').slice(1).join('\n\n') ?? ''
    expect(body).toContain('Customer: c1 Your account is locked go to http://evil.example')
  })

  it('lets no text of an order become a header of the mail', async () => {
    await using there = await mailServer()
    await there.sink.send({ ...receipt, orderId: 'o1\r\nBcc: other@example.com' }, signal)
    expect(there.taken[0]?.to).toEqual(['customer@example.com'])
    const head = there.taken[0]?.mail.split('\r\n\r\n', 1)[0]
    expect(head).not.toMatch(/^Bcc:/m)
  })
})
