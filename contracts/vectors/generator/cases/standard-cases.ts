import { createHmac } from 'node:crypto'
import { KEY, malleableEd25519, signEd25519 } from '../keys.ts'
import { accepted, type Delivered, type Recipe, refused, signatureOf } from '../recipe.ts'
import { BODY, type HeaderLine, NOW, type Vector } from '../vector.ts'

const NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

/** The headers of a delivery with this list of signatures. */
function standardLines(list: string, id = 'msg_0001'): HeaderLine[] {
  return [
    ['webhook-id', id],
    ['webhook-timestamp', String(NOW)],
    ['webhook-signature', list],
  ]
}

/** The cases of both versions of Standard Webhooks: the other header names, the id, the list of signatures. */
function commonCases(recipe: Recipe): Vector[] {
  const { prefix = '' } = recipe
  const right = `${prefix}${signatureOf(recipe)}`
  const wrong = `${prefix}${signatureOf(recipe, { secret: recipe.signer?.another ?? 'whsec_AQIDBAUGBwgJCgsMDQ4PEBES' })}`
  const lines = standardLines(right)
  const svix = (name: string): string => name.replace('webhook', 'svix')
  const of = (...list: string[]): Delivered => ({ headers: standardLines(list.join(' ')) })
  const identified = (id: string): Delivered => ({
    headers: standardLines(`${prefix}${signatureOf(recipe, { text: [`${id}.${NOW}.`, BODY] })}`, id),
  })
  return [
    accepted(recipe, 'the headers are named as Svix names them', {
      headers: lines.map(([name, value]): HeaderLine => [svix(name), value]),
    }),
    accepted(recipe, 'several signatures, the last one right', of(wrong, wrong, right)),
    accepted(recipe, 'the right signature is the eighth', of(...Array<string>(7).fill(wrong), right)),
    refused(
      recipe,
      'the right signature is the ninth: eight are looked at',
      of(...Array<string>(8).fill(wrong), right),
    ),
    accepted(recipe, 'signatures of versions that nobody knows are passed over', of('v2,AAAA', 'x', right)),
    refused(recipe, 'the list is separated by commas', of(`${wrong},${right}`)),
    refused(recipe, 'the version and the signature are joined by an equals sign', of(right.replace(',', '='))),
    refused(recipe, 'the signature is called v2', of(right.replace(prefix, 'v2,'))),
    ...NAMES.map((name) =>
      refused(recipe, `${name} is there under the other name only`, {
        headers: lines.map(([one, value]): HeaderLine => [one === name ? svix(one) : one, value]),
      }),
    ),
    refused(recipe, 'a wrong set of webhook- headers beside a right set of svix- headers', {
      headers: [...standardLines(wrong), ...lines.map(([name, value]): HeaderLine => [svix(name), value])],
    }),
    refused(recipe, 'the id has a full stop, and is signed so', identified('msg.0001')),
    refused(recipe, 'the id and the time are split at another place', identified(`msg_0001.${NOW}`)),
    refused(recipe, 'the id is longer than 255 characters, and is signed so', identified('m'.repeat(256))),
    accepted(recipe, 'the id has 255 characters', identified('m'.repeat(255))),
    refused(recipe, 'the id has a control character, and is signed so', identified('msg\t1')),
  ]
}

const V1A = signEd25519(Buffer.concat([Buffer.from(`msg_0001.${NOW}.`), BODY]), '').toString('base64')
const V1 = createHmac('sha256', KEY).update(`msg_0001.${NOW}.`).update(BODY).digest('base64')

/** Version 1, with HMAC; a signature of version 1a never counts for it. */
export function standardV1Cases(recipe: Recipe): Vector[] {
  const signature = signatureOf(recipe)
  return [
    accepted(recipe, 'the secret is shown without its prefix', { secret: recipe.secret.replace('whsec_', '') }),
    accepted(recipe, 'a signature of version 1a beside it is passed over', {
      headers: standardLines(`v1a,${V1A} v1,${signature}`),
    }),
    refused(recipe, 'only a v1a signature, from the key whose public half is known', {
      headers: standardLines(`v1a,${V1A}`),
    }),
    refused(recipe, 'the v1 signature is called v1a', { headers: standardLines(`v1a,${signature}`) }),
    ...commonCases(recipe),
  ]
}

/** Version 1a, with Ed25519; a signature of version 1 never counts for it. */
export function standardV1aCases(recipe: Recipe): Vector[] {
  const publicKey = Buffer.from(recipe.secret.slice('whpk_'.length), 'base64')
  const text = Buffer.concat([Buffer.from(`msg_0001.${NOW}.`), BODY])
  const forged = createHmac('sha256', publicKey).update(text).digest('base64')
  const other = malleableEd25519(Buffer.from(V1A, 'base64')).toString('base64')
  const only = (why: string, list: string): Vector => refused(recipe, why, { headers: standardLines(list) })
  return [
    accepted(recipe, 'published: the tests of the Svix server', {
      secret: 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=',
      now: 1_614_265_330,
      headers: [
        ['svix-id', 'msg_p5jXN8AQM9LWM0D4loKWxJek'],
        ['svix-timestamp', '1614265330'],
        [
          'svix-signature',
          'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==',
        ],
      ],
      body: Buffer.from('{"test": 2432232314}'),
    }),
    accepted(recipe, 'a list of both versions', { headers: standardLines(`v1,${V1} v1a,${V1A}`) }),
    only('only a v1 signature is offered where v1a is pinned', `v1,${V1}`),
    only('a v1 HMAC keyed with the public key', `v1,${forged}`),
    only('a v1a HMAC keyed with the public key', `v1a,${forged}`),
    only('the v1a signature is called v1', `v1,${V1A}`),
    only('the other signature with the same meaning (S beyond the order of the group)', `v1a,${other}`),
    ...commonCases(recipe),
  ]
}

/** GitLab's signing token: as version 1. The token itself never counts as a signature. */
export function gitlabSigningCases(recipe: Recipe): Vector[] {
  const fetch = { fetch: { baseUrl: 'http://127.0.0.1:9', token: 'a_token_of_the_api' } }
  const inClear = (why: string, token: string, more: Delivered = {}): Vector =>
    refused(recipe, why, { headers: [['X-Gitlab-Token', token]], ...more })
  return [
    accepted(recipe, 'the older header stands beside it, and says nothing', {
      headers: [...standardLines(`v1,${signatureOf(recipe)}`), ['X-Gitlab-Token', 'x']],
    }),
    inClear('the text of the signing token in clear', recipe.secret),
    inClear('the key of the signing token in clear', recipe.secret.replace('whsec_', '')),
    inClear('a clear token where a signing token is set', 'a_clear_token_0001'),
    inClear('the text of the signing token in clear, with an API to ask', recipe.secret, { settings: fetch }),
    refused(recipe, 'a wrong signature beside the signing token in clear', {
      settings: fetch,
      headers: [...standardLines(`v1,${Buffer.alloc(32).toString('base64')}`), ['X-Gitlab-Token', recipe.secret]],
    }),
    refused(recipe, 'the signature is called v1a', { headers: standardLines(`v1a,${signatureOf(recipe)}`) }),
    // GitLab knows one family of header names.
    ...commonCases(recipe).filter(({ why }) => !/svix/i.test(why)),
  ]
}
