import { isLoopback } from '@oncehook/kernel/http/client'
import { parseSettingsJson, SettingsError } from '@oncehook/kernel/settings/settings'
import { z } from 'zod'
import { OF_CLIENT, type OperatorClient, type OperatorClientTexts, readOperatorClient } from './operator-client.ts'
import { ROLES, type Role, withRead } from './token-holders.ts'

/** The OpenID Connect issuer whose access tokens operators may use, and the roles of its groups. */
export interface OperatorIssuer {
  /** Its name, exactly as its tokens and its discovery document spell it. */
  readonly issuer: string
  /** The audience that a token must have. */
  readonly audience: string
  /** The claim that holds the groups: its name, or a JSON Pointer (RFC 6901). */
  readonly groupsClaim: string
  readonly groups: ReadonlyMap<string, ReadonlySet<Role>>
  /** A token of this age or older is rejected, whatever its `exp`. */
  readonly maxAgeSeconds: number
  readonly signIn: SignInRules
  /** How operators sign in from the page. Null: they cannot, and tokens come from elsewhere. */
  readonly client: OperatorClient | null
}

/** What the sign-in behind a token must have been like (RFC 9068 section 2.2.1). Without rules, any sign-in counts. */
export interface SignInRules {
  /** `acr` must be one of these; empty: any. */
  readonly acrValues: readonly string[]
  /** `amr` must contain all of these. */
  readonly amrValues: readonly string[]
}

/** The settings of the issuer before they are checked together. */
export interface OperatorIssuerTexts extends OperatorClientTexts {
  readonly OPERATOR_ISSUER?: string | undefined
  readonly OPERATOR_GROUPS?: string | undefined
  readonly OPERATOR_GROUPS_CLAIM: string
  readonly OPERATOR_TOKEN_MAX_AGE_SECONDS: number
  readonly OPERATOR_ACR_VALUES?: string | undefined
  readonly OPERATOR_AMR_VALUES?: string | undefined
}

/** The prefix of the names of operators from an issuer. */
export const ISSUED_PREFIX = 'oidc:'

const SAMPLE_ISSUER = 'https://login.example.com/realms/staff'
const SAMPLE_GROUPS = '{"oncehook-operators": ["read", "operate"]}'
const GROUPS = z.record(z.string().min(1).max(255), z.array(z.enum(ROLES)))

// Those without which the issuer's other settings mean nothing. They have no default.
const OF_ISSUER = [
  ...(['OPERATOR_AUDIENCE', 'OPERATOR_GROUPS', 'OPERATOR_ACR_VALUES', 'OPERATOR_AMR_VALUES'] as const),
  ...(['OPERATOR_CLIENT_ID', ...OF_CLIENT] as const),
] as const

/**
 * Reads the issuer of tokens for operators; null if there is none.
 * @throws SettingsError with every problem, each with the line to write
 */
export function readOperatorIssuer(texts: OperatorIssuerTexts): OperatorIssuer | null {
  const { OPERATOR_ISSUER: issuer, OPERATOR_AUDIENCE: audience, OPERATOR_GROUPS: json } = texts
  if (issuer === undefined) {
    const alone = OF_ISSUER.filter((name) => texts[name] !== undefined)
    if (alone.length === 0) return null
    throw new SettingsError(alone.map((name) => `${name} needs an issuer: set OPERATOR_ISSUER=${SAMPLE_ISSUER}`))
  }
  const problems: string[] = []
  if (!isIssuer(issuer)) {
    problems.push(
      `OPERATOR_ISSUER must be an https URL (http for loopback only) without user, query or fragment, such as ${SAMPLE_ISSUER}`,
    )
  }
  if (audience === undefined) {
    problems.push('OPERATOR_AUDIENCE is not set: use the audience of the tokens, such as OPERATOR_AUDIENCE=oncehook')
  }
  const groups = readGroups(json)
  if (groups === null)
    problems.push(`OPERATOR_GROUPS must name groups and their roles: OPERATOR_GROUPS=${SAMPLE_GROUPS}`)
  const acrValues = readValues('OPERATOR_ACR_VALUES', texts, problems)
  const amrValues = readValues('OPERATOR_AMR_VALUES', texts, problems)
  const client = readOperatorClient(texts, problems)
  if (problems.length > 0 || audience === undefined || groups === null) throw new SettingsError(problems)
  const { OPERATOR_GROUPS_CLAIM: groupsClaim, OPERATOR_TOKEN_MAX_AGE_SECONDS: maxAgeSeconds } = texts
  return { issuer, audience, groupsClaim, groups, maxAgeSeconds, signIn: { acrValues, amrValues }, client }
}

const SAMPLES = { OPERATOR_ACR_VALUES: 'phr phrh', OPERATOR_AMR_VALUES: 'mfa' } as const
// The challenge quotes these values (RFC 9470), so only characters of a scope are allowed (RFC 6749 section 3.3).
const VALUE = /^[\x21\x23-\x5b\x5d-\x7e]{1,255}$/

/** Values separated by spaces, as in the `acr_values` of a request (OpenID Connect Core 1.0 section 3.1.2.1). */
function readValues(name: keyof typeof SAMPLES, texts: OperatorIssuerTexts, problems: string[]): readonly string[] {
  const text = texts[name]
  if (text === undefined) return []
  const values = text.split(' ').filter((value) => value !== '')
  if (values.length === 0 || !values.every((value) => VALUE.test(value))) {
    problems.push(`${name} must be values separated by spaces, such as ${name}=${SAMPLES[name]}`)
  }
  return values
}

/** Whether keys may be fetched from a URL: https, or plain http on this machine. */
export function isSafeAddress(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))
}

function isIssuer(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && isSafeAddress(url) && url.username === '' && url.password === '' && !/[?#\s]/.test(text)
}

function readGroups(json: string | undefined): OperatorIssuer['groups'] | null {
  const { data } = GROUPS.safeParse(json === undefined ? null : parseSettingsJson('OPERATOR_GROUPS', json))
  const entries = Object.entries(data ?? {})
  return entries.length === 0 ? null : new Map(entries.map(([group, roles]) => [group, withRead(roles)]))
}
