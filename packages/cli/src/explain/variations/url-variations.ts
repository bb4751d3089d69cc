import { type ProviderSettings, SCHEMES } from '@oncehook/webhooks/providers'
import { toPublicUrl } from '../../verify/known-providers.ts'
import type { Variation } from '../attempt.ts'
import { toLines } from './header-variations.ts'

/** Known details of the URL to which a provider delivers. */
interface AddressHints {
  readonly url: string | undefined
  readonly target: string | null
  readonly rawHeaders: readonly string[]
  /** Of the delivery, without the question mark. */
  readonly query: string
}

/** Other URLs that a provider may have signed, for schemes that sign the URL: from the option, from proxy headers, or misspelled. */
export function urlVariations(settings: ProviderSettings & { publicUrl?: unknown }, hints: AddressHints): Variation[] {
  const withoutQuery = SCHEMES.get(settings.scheme)?.usesQuery?.(settings) === true && hints.query !== ''
  const configured = settings.publicUrl
  if (typeof configured !== 'string') return withoutQuery ? [WITHOUT_QUERY] : []
  const bases = [configured, ...basesOf(configured, hints)]
  const urls = new Set(
    bases.flatMap((base) => spellingsOf(base, hints)).map((url) => toPublicUrl(settings.scheme, url)),
  )
  urls.delete(configured)
  return [...Array.from(urls, (url) => toVariation(configured, url)), ...(withoutQuery ? [WITHOUT_QUERY] : [])]
}

const WITHOUT_QUERY: Variation = {
  cause: 'url',
  message: 'It was signed without the query',
  fix: 'Pass the query unchanged, or remove it from the URL configured at the provider',
  apply: (attempt) => ({ ...attempt, delivery: { ...attempt.delivery, query: '' } }),
}

function toVariation(configured: string, url: string): Variation {
  return {
    cause: 'url',
    message: `It was signed for ${shown(url)}, but the settings have ${shown(configured)}`,
    fix: 'Set publicUrl to the exact URL configured at the provider, whatever a proxy changes',
    apply: (attempt) => ({ ...attempt, settings: { ...attempt.settings, publicUrl: url } as ProviderSettings }),
  }
}

/** Hides the query and the user information, because both may contain secrets. */
function shown(url: string): string {
  return url.replace(/\?.*$/s, '?…').replace(/^(https?:\/\/)[^/@]*@/, '$1…@')
}

function basesOf(configured: string, { url, target, rawHeaders }: AddressHints): string[] {
  const hosts = toLines(rawHeaders).flatMap(([name, value]) =>
    ['x-forwarded-host', 'x-original-host', 'host'].includes(name) ? [`https://${value.trim()}`] : [],
  )
  const { origin, pathname, search } = new URL(configured)
  const paths = [pathname + search, ...(target?.startsWith('/') ? [target] : [])]
  const named = [...hosts, origin].flatMap((host) => paths.map((path) => host + path))
  return [...(url === undefined ? [] : [url]), ...named].filter((one) => URL.canParse(one))
}

/** Variants of a URL that proxies and people produce. */
function spellingsOf(base: string, { query }: AddressHints): string[] {
  const [, host = '', port = '', path = '', search = ''] =
    /^https?:\/\/([^/:?]+)(:\d+)?([^?]*)(\?.*)?$/s.exec(base) ?? []
  const paths = [path, path.endsWith('/') ? path.slice(0, -1) : `${path}/`]
  const queries = [search, '', ...(query === '' ? [] : [`?${query}`])]
  return ['https', 'http'].flatMap((scheme) =>
    [port, '', scheme === 'https' ? ':443' : ':80'].flatMap((onePort) =>
      paths.flatMap((onePath) => queries.map((one) => `${scheme}://${host}${onePort}${onePath}${one}`)),
    ),
  )
}
