import { isLoopback } from '@oncehook/kernel/is-loopback'
import { parseSettingsJson } from '@oncehook/kernel/parse-settings-json'
import { SettingsError } from '@oncehook/kernel/settings'
import { z } from 'zod'
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
}

/** The settings of the issuer before they are checked together. */
export interface OperatorIssuerTexts {
  readonly OPERATOR_ISSUER?: string | undefined
  readonly OPERATOR_AUDIENCE?: string | undefined
  readonly OPERATOR_GROUPS?: string | undefined
  readonly OPERATOR_GROUPS_CLAIM: string
  readonly OPERATOR_TOKEN_MAX_AGE_SECONDS: number
}

/** The prefix of the names of operators from an issuer. */
export const ISSUED_PREFIX = 'oidc:'

const SAMPLE_ISSUER = 'https://login.example.com/realms/staff'
const SAMPLE_GROUPS = '{"oncehook-operators": ["read", "operate"]}'
const GROUPS = z.record(z.string().min(1).max(255), z.array(z.enum(ROLES)))

/**
 * Reads the issuer of tokens for operators; null if there is none.
 * @throws SettingsError with every problem, each with the line to write
 */
export function readOperatorIssuer(texts: OperatorIssuerTexts): OperatorIssuer | null {
  const { OPERATOR_ISSUER: issuer, OPERATOR_AUDIENCE: audience, OPERATOR_GROUPS: json } = texts
  if (issuer === undefined) {
    const alone = (['OPERATOR_AUDIENCE', 'OPERATOR_GROUPS'] as const).filter((name) => texts[name] !== undefined)
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
  if (problems.length > 0 || audience === undefined || groups === null) throw new SettingsError(problems)
  const { OPERATOR_GROUPS_CLAIM: groupsClaim, OPERATOR_TOKEN_MAX_AGE_SECONDS: maxAgeSeconds } = texts
  return { issuer, audience, groupsClaim, groups, maxAgeSeconds }
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
