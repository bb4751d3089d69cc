import { SettingsError } from './settings.ts'

/** The settings that no service reads any more, and what to do instead. */
const REMOVED = {
  DISPATCH_BATCH: 'remove it. A call to fulfilment always has at most 500 events',
  HEADERS_TIMEOUT_MS: 'remove it. The head of a request always has 5 s',
  MAX_STARTS: 'set MAX_CRASHES instead',
  OPERATOR_SIGN_IN_MAX_AGE_SECONDS: 'remove it. The issuer decides how long a sign-in lasts',
  PAYMENT_GUARD: 'remove it. A unique index of the orders always keeps a payment to one order',
  RATE_LIMIT_ASKED: 'remove it. For one address, at most 20 objects are requested from Mollie in 10 s',
  RATE_LIMIT_WINDOW_SECONDS: 'remove it. The window of the rate limits is always 10 s',
  REQUEST_TIMEOUT_MS: 'remove it. A request always has 10 s',
  SERVICE_TOKEN_BINDING: 'remove it. A service token is always bound to its call',
} as const

/**
 * Refuses settings that would have no effect, also as `NAME_FILE`.
 * @throws SettingsError with a line for each
 */
export function refuseRemovedSettings(env: NodeJS.ProcessEnv): void {
  const problems = Object.entries(REMOVED).flatMap(([name, advice]) =>
    [name, `${name}_FILE`].filter((one) => (env[one] ?? '') !== '').map((one) => `${one} no longer exists: ${advice}`),
  )
  if (problems.length > 0) throw new SettingsError(problems)
}
