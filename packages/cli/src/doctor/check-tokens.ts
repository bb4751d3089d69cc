import type { CliContext } from '../cli-context.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import { probe } from './probe.ts'

/** Checks that the orders API accepts the token. */
export async function checkApiToken(
  context: CliContext,
  { url, token }: { readonly url: string; readonly token: string | undefined },
): Promise<Finding> {
  if (token === undefined) return warning('api token', 'Not checked: no token was given', 'Give --api-token-file')
  const answer = await probe(context, `${url}/api/orders?limit=1`, token)
  return describeToken('api token', answer?.status, 'API_TOKENS')
}

/** Checks that the operator API accepts the token. */
export async function checkOperatorToken(
  context: CliContext,
  { adminUrl, token }: { readonly adminUrl: string; readonly token: string },
): Promise<Finding> {
  const answer = await probe(context, `${adminUrl}/operator/audit.list`, token)
  return describeToken('operator token', answer?.status, 'OPERATOR_TOKENS, or a valid token from its OPERATOR_ISSUER')
}

function describeToken(check: string, status: number | undefined, setting: string): Finding {
  if (status === 401) return failure(check, 'The token was rejected', `Use one of the gateway's ${setting}`)
  if (status === 200) return ok(check, 'The token is accepted')
  const message = status === undefined ? 'No answer' : `Status ${status}`
  return warning(
    check,
    `${message}: cannot check whether the token is accepted`,
    'Fix the problem above, then run doctor again',
  )
}
