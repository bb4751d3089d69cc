import { isLoopback } from '@oncehook/kernel/http/client'
import type { Secret } from '@oncehook/kernel/secrets/secret'
import {
  integerSetting,
  parseSettingsJson,
  readSettings,
  SettingsError,
  secretSetting,
  textSetting,
} from '@oncehook/kernel/settings/settings'
import { z } from 'zod'
import { ROLES, type Role, withRead } from '../../http/authentication.ts'

/** The parameters that can name the audience in a request: that of RFC 8707, and the one of issuers before it. */
const AUDIENCE_PARAMETERS = ['resource', 'audience'] as const

/** The settings of the issuer and of its client. They are checked together. */
export const issuerSettings = {
  OPERATOR_ISSUER: textSetting().optional(),
  OPERATOR_AUDIENCE: textSetting().optional(),
  OPERATOR_GROUPS: textSetting().optional(),
  OPERATOR_GROUPS_CLAIM: textSetting('groups'),
  OPERATOR_TOKEN_MAX_AGE_SECONDS: integerSetting({ min: 60, max: 86_400, fallback: 7_200 }),
  OPERATOR_ACR_VALUES: textSetting().optional(),
  OPERATOR_AMR_VALUES: textSetting().optional(),
  OPERATOR_CLIENT_ID: textSetting().optional(),
  OPERATOR_CLIENT_SECRET: secretSetting(16).optional(),
  OPERATOR_SCOPES: textSetting('openid'),
  OPERATOR_AUDIENCE_PARAMETER: z.enum(AUDIENCE_PARAMETERS, { error: 'must be resource or audience' }).optional(),
}
const schema = z.object(issuerSettings)
type IssuerTexts = z.output<typeof schema>

/** The client that the gateway is at the issuer. With it, operators sign in there from the page. */
export interface OperatorClient {
  readonly id: string
  /** Null for a public client: only PKCE proves that the same party asks twice. */
  readonly secret: Secret | null
  /** The scopes to request, separated by spaces. `openid` is one of them. */
  readonly scope: string
  /** Where a request names the audience. Null: nowhere. */
  readonly audienceParameter: (typeof AUDIENCE_PARAMETERS)[number] | null
}

/** The settings that mean nothing without a client. They have no default. */
const OF_CLIENT = ['OPERATOR_CLIENT_SECRET', 'OPERATOR_AUDIENCE_PARAMETER'] as const

// RFC 6749 sections 3.3 and appendix A.1.
const SCOPES = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/
const CLIENT_ID = /^[\x20-\x7e]{1,255}$/

/** Reads the client; null if there is none. Adds each problem to `problems`, with the line to write. */
function readOperatorClient(texts: IssuerTexts, problems: string[]): OperatorClient | null {
  const { OPERATOR_CLIENT_ID: id, OPERATOR_CLIENT_SECRET: secret = null, OPERATOR_SCOPES: scope } = texts
  const { OPERATOR_AUDIENCE: audience = '', OPERATOR_AUDIENCE_PARAMETER: audienceParameter = null } = texts
  if (id === undefined) {
    const alone = OF_CLIENT.filter((name) => texts[name] !== undefined)
    problems.push(...alone.map((name) => `${name} needs a client: set OPERATOR_CLIENT_ID=oncehook`))
    return null
  }
  if (!CLIENT_ID.test(id)) problems.push('OPERATOR_CLIENT_ID must be 1 to 255 printable ASCII characters')
  if (!SCOPES.test(scope) || !scope.split(' ').includes('openid')) {
    problems.push('OPERATOR_SCOPES must be scopes separated by spaces, with openid: OPERATOR_SCOPES=openid')
  }
  if (audienceParameter === 'resource' && (!URL.canParse(audience) || audience.includes('#'))) {
    problems.push(
      'OPERATOR_AUDIENCE_PARAMETER=resource needs an absolute URI without fragment in OPERATOR_AUDIENCE (RFC 8707)',
    )
  }
  return { id, secret, scope, audienceParameter }
}

/** The OpenID Connect issuer whose access tokens operators may use, and the roles of its groups. */
export interface OperatorIssuer {
  /** Its name, exactly as its tokens and its discovery document spell it. */
  readonly issuer: string
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

/** @throws SettingsError with every problem, each with the line to write */
export function readOperatorIssuer(env: NodeJS.ProcessEnv): OperatorIssuer | null {
  const texts = readSettings(schema, env)
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
function readValues(name: keyof typeof SAMPLES, texts: IssuerTexts, problems: string[]): readonly string[] {
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
