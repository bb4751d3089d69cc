import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isSet, type SystemSettings, secretVariables } from './service-environments.ts'

/** What a start prints about the running system. */
export interface SystemDescription {
  /** The content of `running.json`. The command line reads that file to find the system. */
  readonly running: Readonly<Record<string, string | number | null | Readonly<Record<string, string>>>>
  /** The lines for the terminal: addresses, what to do next, then one that begins with `Ready`. */
  readonly lines: readonly string[]
}

/** What a start found out about the running system. */
export interface FoundParts {
  /** How MongoDB is shown. */
  readonly mongo: string
  /** The link that signs in once. Null if the gateway made none. */
  readonly link: string | null
  /** What to do next. */
  readonly next: readonly string[]
}

/**
 * Describes a system that is ready. Names the files that contain secrets, but shows no secret except the one-time code.
 */
export function describeSystem(
  { env, data, addresses, secrets }: SystemSettings,
  found: FoundParts,
): SystemDescription {
  const { gateway, admin, fulfilment } = addresses
  const receipts = receiptsFile(env, data.receipts)
  const running = {
    gatewayUrl: gateway.url,
    adminUrl: admin.url,
    fulfilmentUrl: fulfilment.url,
    secretsFile: data.secrets,
    providersFile: providersFile(env, data.providers),
    secretVariables: secretVariables(secrets),
    receiptsFile: receipts,
    pid: process.pid,
  }
  const lines = [
    '',
    `  Public API    ${gateway.url}`,
    `  Console       ${shownLink(admin.url, found.link, env)}`,
    `  Operator API  ${admin.url}`,
    `  Fulfilment    ${fulfilment.url}`,
    `  MongoDB       ${found.mongo}`,
    `  Receipts      ${receipts ?? 'as RECEIPT_SINK says'}`,
    `  Secrets       ${data.secrets} (made for this machine at the first start)`,
    `  Logs          ${data.logs}`,
    '',
    ...found.next,
    '',
    `Ready after ${(performance.now() / 1_000).toFixed(1)} s; Ctrl-C stops everything`,
  ]
  return { running, lines }
}

function shownLink(adminUrl: string, link: string | null, env: NodeJS.ProcessEnv): string {
  if (link === null) {
    const whose = isSet(env, 'OPERATOR_TOKENS') ? ', with one of your OPERATOR_TOKENS in ONCEHOOK_OPERATOR_TOKEN' : ''
    return `${adminUrl} (npm run oncehook -- sign-in prints a link${whose})`
  }
  return `${link} (signs in once, within 10 minutes)`
}

/** The file of the gateway's providers; null if they are in the environment. */
function providersFile(env: NodeJS.ProcessEnv, fallback: string): string | null {
  if (env.PROVIDERS_FILE) return resolve(env.PROVIDERS_FILE)
  return env.PROVIDERS ? null : fallback
}

function receiptsFile(env: NodeJS.ProcessEnv, fallback: string): string | null {
  if (!isSet(env, 'RECEIPT_SINK')) return fallback
  const sink = env.RECEIPT_SINK ?? ''
  if (sink.startsWith('file://')) return fileURLToPath(sink)
  return sink.startsWith('file:') ? sink.slice('file:'.length) : null
}
