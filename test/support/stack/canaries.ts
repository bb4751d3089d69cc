import { randomBytes } from 'node:crypto'
import { newServiceKeyPair, type ServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'

/** The secrets of one stack. Each contains a word that nothing else contains. */
export interface StackSecrets {
  readonly serviceKeys: ServiceKeyPair
  readonly apiToken: string
  readonly operatorToken: string
  /** Standard Webhooks: in use, being replaced, expired. */
  readonly acme: { readonly current: string; readonly previous: string; readonly expired: string }
  readonly stripe: string
  readonly shop: string
}

/** Makes the secrets of a stack. */
export function makeSecrets(): StackSecrets {
  const make = (name: string): string => `canary-${name}-${randomBytes(16).toString('hex')}`
  const whsec = (name: string): string => `whsec_${Buffer.from(make(name)).toString('base64')}`
  return {
    serviceKeys: newServiceKeyPair(),
    apiToken: make('api'),
    operatorToken: make('operator'),
    acme: { current: whsec('current'), previous: whsec('previous'), expired: whsec('expired') },
    stripe: `whsec_${make('stripe')}`,
    shop: make('shop'),
  }
}

/** In every body that a stack's client or provider sends. */
export const BODY_CANARY = 'canary-in-a-body'

/** What must never come out of a service. */
export interface Forbidden {
  readonly secrets: StackSecrets
  /** The signatures of all deliveries, as in their headers. */
  readonly signatures: ReadonlySet<string>
  /** Host and port of the database. */
  readonly databaseAddresses: readonly string[]
}

/** Names the forbidden values that a text contains, without repeating them. */
export function findLeaks(text: string, { secrets, signatures, databaseAddresses }: Forbidden): string[] {
  const leaks = secretTexts(secrets)
    .filter(([, value]) => text.includes(value))
    .map(([name]) => `The secret ${name} is in the output`)
  if (text.includes(BODY_CANARY)) leaks.push('A body is in the output')
  if (databaseAddresses.some((address) => text.includes(address))) leaks.push('The address of the database is')
  // A JSON Web Token begins with the base64 of {".
  if (/\beyJ[\w-]+\.[\w-]+\.[\w-]+/.test(text)) leaks.push('A service token is in the output')
  const parts = new Set([...signatures].flatMap(signatureParts))
  if ((text.match(LONG_TOKEN) ?? []).some((token) => parts.has(token))) leaks.push('A signature is in the output')
  return leaks
}

const LONG_TOKEN = /[A-Za-z0-9+/]{20,}={0,2}/g

function signatureParts(signature: string): string[] {
  return signature.match(LONG_TOKEN) ?? []
}

function secretTexts({ acme, serviceKeys, ...plain }: StackSecrets): [name: string, value: string][] {
  const keys = Object.entries(acme).map(([name, value]): [string, string] => [name, value.slice('whsec_'.length)])
  const decoded = keys.map(([name, key]): [string, string] => [name, Buffer.from(key, 'base64').toString()])
  return [...Object.entries(plain), ['serviceKeys', privatePartOf(serviceKeys)], ...keys, ...decoded]
}

/** The line of the private key that no other key has. */
function privatePartOf({ privateKey }: ServiceKeyPair): string {
  return privateKey.split('\n')[1] ?? ''
}
