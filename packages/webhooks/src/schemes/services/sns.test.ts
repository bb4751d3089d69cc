import { describe, expect, it } from 'vitest'
import { createVerifier, type Verification } from '../../create-verifier.ts'
import { SNS_CONFIRMATION } from '../../testing/sns-confirmation.ts'
import { readVectorFiles } from '../../testing/vectors.ts'
import { isSubscribeUrl } from './sns-hosts.ts'

const [vector] = readVectorFiles().find(({ scheme }) => scheme === 'sns')?.cases ?? []
if (vector === undefined) throw new Error('There are no vectors of sns')
const { certificates } = vector.settings as { readonly certificates: readonly string[] }
const [certificate = ''] = certificates
const notification = JSON.parse(Buffer.from(vector.body, 'base64').toString()) as Readonly<Record<string, string>>
const { secret: topic } = vector

/** A verifier whose network answers with `answer`, and the URLs that it asked for. */
function verifier(answer: (url: string) => Response, { secrets = topic }: { readonly secrets?: string } = {}) {
  const asked: string[] = []
  const fetch = async (url: unknown) => {
    asked.push(String(url))
    return answer(String(url))
  }
  const made = createVerifier(
    { scheme: 'sns', secrets },
    { now: () => vector!.now * 1_000, fetch: fetch as typeof globalThis.fetch },
  )
  const verify = async (body: object): Promise<Verification> =>
    await made.verify({ rawBody: JSON.stringify(body), headers: {} })
  return { verify, asked }
}

const serves = (url: string): Response => new Response(url.endsWith('.pem') ? certificate : '<ok/>')
/** The finder keeps certificates by their URL, which is not signed: each test has its own. */
const at = (name: string) => ({ SigningCertURL: `https://sns.us-west-2.amazonaws.com/${name}.pem` })

describe('a notification of SNS', () => {
  it('is verified with the certificate that it names, which is fetched once', async () => {
    const { verify, asked } = verifier(serves)
    const sent = { ...notification, ...at('once') }
    expect(await verify(sent)).toMatchObject({ outcome: 'verified', events: [{ type: 'Notification' }] })
    expect(await verify(sent)).toMatchObject({ outcome: 'verified' })
    expect(asked).toEqual([at('once').SigningCertURL])
  })

  it.each([
    ['is of another topic', {}, { secrets: `${topic}2` }],
    ['names a certificate elsewhere', { SigningCertURL: 'https://sns.s3-us-west-2.amazonaws.com/evil.pem' }, {}],
  ])('is refused without a question to anybody if it %s', async (_, changes, options) => {
    const { verify, asked } = verifier(serves, options)
    expect(await verify({ ...notification, ...changes })).toMatchObject({ outcome: 'refused' })
    expect(asked).toEqual([])
  })

  it('is refused if the certificate does not name SNS', async () => {
    const paypal = readVectorFiles().find(({ scheme }) => scheme === 'paypal')?.cases[0]?.settings
    const other = (paypal as { readonly certificates: readonly string[] }).certificates[0]
    const { verify } = verifier(() => new Response(other))
    expect(await verify({ ...notification, ...at('other') })).toMatchObject({ reason: 'signature_mismatch' })
  })

  it('is undecided if the certificate cannot be fetched now', async () => {
    const { verify } = verifier(() => new Response('', { status: 503 }))
    expect(await verify({ ...notification, ...at('later') })).toMatchObject({ outcome: 'undecided' })
  })
})

describe('a confirmation of a subscription', () => {
  const sent = { ...SNS_CONFIRMATION, ...at('confirm') }

  it('confirms the subscription once, however often it comes', async () => {
    const { verify, asked } = verifier(serves)
    for (const _ of ['one', 'another']) expect(await verify(sent)).toMatchObject({ outcome: 'handshake', status: 200 })
    expect(asked.filter((url) => url === sent.SubscribeURL)).toHaveLength(1)
  })

  it.each([
    ['its signature does not hold', { Token: 'forged' }, {}],
    ['the topic is not in the settings', {}, { secrets: `${topic}2` }],
    ['its address is elsewhere', { SubscribeURL: sent.SubscribeURL.replace('sns.us-west-2', 'sns.s3') }, {}],
  ])('confirms nothing if %s', async (_, changes, options) => {
    const { verify, asked } = verifier(serves, options)
    expect(await verify({ ...sent, ...changes })).toMatchObject({ outcome: 'refused' })
    expect(asked.filter((url) => !url.endsWith('.pem'))).toEqual([])
  })

  it('is undecided if SNS does not confirm, so that it comes again, and then it is confirmed', async () => {
    const answers = [503]
    const { verify } = verifier((url) =>
      url.endsWith('.pem') ? serves(url) : new Response('', { status: answers.pop() ?? 200 }),
    )
    expect(await verify(sent)).toMatchObject({ outcome: 'undecided' })
    expect(await verify(sent)).toMatchObject({ outcome: 'handshake' })
  })
})

it.each([
  ['of another topic', (url: string) => url.replace('MyTopic', 'Other')],
  ['with the topic twice', (url: string) => `${url}&TopicArn=${topic}`],
  ['of another action', (url: string) => url.replace('ConfirmSubscription', 'Publish')],
  ['with plain http', (url: string) => url.replace('https:', 'http:')],
  ['at another port', (url: string) => url.replace('.com/', '.com:444/')],
  ['with a user', (url: string) => url.replace('//', '//sns.us-west-2.amazonaws.com@')],
  ['with another path', (url: string) => url.replace('/?', '/x?')],
])('an address %s confirms no subscription', (_, change) => {
  expect(isSubscribeUrl(SNS_CONFIRMATION.SubscribeURL, topic)).toBe(true)
  expect(isSubscribeUrl(change(SNS_CONFIRMATION.SubscribeURL), topic)).toBe(false)
})
