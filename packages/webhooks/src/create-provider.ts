import { answerOnlyHandshakes, readAnything } from './events/read-anything.ts'
import { permissionProblems, readPermissions, unsaidOrigin, unsureAmounts } from './events/read-permissions.ts'
import { sampleProblems } from './events/sample-problems.ts'
import type { PrepareExplanation } from './explanation.ts'
import { type Provider, verifyWith } from './provider.ts'
import type { ProviderSettings, Scheme } from './schemes/scheme.ts'
import { SCHEMES } from './schemes/schemes.ts'
import { type ProviderSource, readSecrets } from './signatures/read-secrets.ts'
import type { LiveSecret } from './signatures/signature.ts'

const HOUR_MS = 3_600_000

/**
 * Creates a provider, or lists what is wrong with its settings. No problem quotes a secret. Without `prepareExplanation`, it
 * explains nothing: programs that only verify need no explanations.
 */
export function createProvider(
  source: ProviderSource,
  prepareExplanation: PrepareExplanation = () => () => [],
): Provider | { readonly problems: string[] } {
  const scheme = SCHEMES.get(source.settings.scheme)
  if (scheme === undefined) return { problems: ['the scheme is unknown'] }
  const { secrets, problems } = readSecrets(scheme, source)
  problems.push(...(scheme.problemsOf?.(source.settings) ?? []), ...permissionProblems(scheme, source.settings))
  if (problems.length > 0) return { problems }
  const settings = { ...source.settings, ...readPermissions(scheme, source.settings) }
  const provider = prepareProvider(scheme, { ...source, settings }, secrets)
  const unfit = sampleProblems(settings, provider)
  if (unfit.length > 0) return { problems: unfit }
  return {
    ...provider,
    unsaidOrigin: unsaidOrigin(scheme, source.settings),
    unsureAmounts: unsureAmounts(scheme, source.settings),
    explain: prepareExplanation(scheme, settings, secrets),
  }
}

function prepareProvider(
  scheme: Scheme,
  { name, settings, maxBytes, maxDepth }: ProviderSource,
  secrets: readonly LiveSecret[],
): Omit<Provider, 'explain' | 'unsaidOrigin' | 'unsureAmounts'> {
  const check = scheme.prepare(settings, secrets)
  const answerCheck = scheme.prepareCheck?.(settings, secrets)
  const confirm = scheme.prepareConfirm?.(settings)
  const readerSettings = maxDepth === undefined ? settings : { ...settings, maxDepth }
  return {
    name,
    scheme: scheme.name,
    maxBytes,
    secrets: secrets.map(({ id, notAfter, isPublic }) => ({ id, notAfter, ...(isPublic ? { isPublic } : {}) })),
    signsTime: scheme.signsTime(settings),
    redeliveryMs: scheme.redelivery.hours * HOUR_MS,
    signedHeaders: scheme.signedHeaders(settings),
    usesQuery: scheme.usesQuery?.(settings) ?? false,
    signsInBody: scheme.signsInBody ?? false,
    takesForms: scheme.takesForms ?? false,
    ...prepareReading(scheme, readerSettings, confirm !== undefined),
    answerHandshake: answerOnlyHandshakes(scheme.prepareHandshake?.(settings, secrets) ?? (() => null)),
    verify: verifyWith(check),
    ...(answerCheck === undefined ? {} : { answerCheck }),
    ...(confirm === undefined ? {} : { confirm }),
    ...(scheme.staticTokenHeader === undefined ? {} : { staticTokenHeader: scheme.staticTokenHeader }),
    ...(scheme.coveredHeaders === undefined ? {} : { coveredHeaders: scheme.coveredHeaders }),
  }
}

function prepareReading(
  scheme: Scheme,
  settings: ProviderSettings,
  isConfirmed: boolean,
): Pick<Provider, 'readEvents' | 'refusesUnreadable'> {
  const read = scheme.prepareReader(settings)
  // What only the provider can prove is not authentic before it was asked, and it can be asked only about what was read.
  const refusesUnreadable = isConfirmed || scheme.refusesUnreadable(settings)
  return { readEvents: refusesUnreadable ? read : readAnything(read), refusesUnreadable }
}
