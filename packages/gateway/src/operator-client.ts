import type { Secret } from '@oncehook/kernel/secrets/secret'

/** The parameters that can name the audience in a request: that of RFC 8707, and the one of issuers before it. */
export const AUDIENCE_PARAMETERS = ['resource', 'audience'] as const

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

/** The settings of the client before they are checked together. */
export interface OperatorClientTexts {
  readonly OPERATOR_AUDIENCE?: string | undefined
  readonly OPERATOR_CLIENT_ID?: string | undefined
  readonly OPERATOR_CLIENT_SECRET?: Secret | undefined
  readonly OPERATOR_SCOPES: string
  readonly OPERATOR_AUDIENCE_PARAMETER?: (typeof AUDIENCE_PARAMETERS)[number] | undefined
}

/** The settings that mean nothing without a client. They have no default. */
export const OF_CLIENT = ['OPERATOR_CLIENT_SECRET', 'OPERATOR_AUDIENCE_PARAMETER'] as const

// RFC 6749 sections 3.3 and appendix A.1.
const SCOPES = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/
const CLIENT_ID = /^[\x20-\x7e]{1,255}$/

/** Reads the client; null if there is none. Adds each problem to `problems`, with the line to write. */
export function readOperatorClient(texts: OperatorClientTexts, problems: string[]): OperatorClient | null {
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
