import { type ProviderSettings, SCHEMES } from '@oncehook/webhooks/providers'
import { toPublicUrl } from '../../verify/known-providers.ts'
import type { Variation } from '../attempt.ts'
import { toLines } from './header-variations.ts'

/** Known details of the URL to which a provider delivers. */
export interface AddressHints {
  readonly url: string | undefined
  readonly target: string | null
  readonly rawHeaders: readonly string[]
  /** Of the delivery, without the question mark. */
  readonly query: string
}

/** Other URLs that a provider may have signed, for schemes that sign the URL. */
export function urlVariations(settings: ProviderSettings, hints: AddressHints): Variation[] {
  return [...addressVariations(settings, hints), ...queryVariations(settings, hints)]
}

function addressVariations(settings: ProviderSettings, hints: AddressHints): Variation[] {
  const configured = publicUrlOf(settings)
  if (configured === undefined) return []
  const bases = [configured, ...basesOf(configured, hints)]
  const urls = new Set(
    bases.flatMap((base) => spellingsOf(base, hints)).map((url) => toPublicUrl(settings.scheme, url)),
  )
  urls.delete(configured)
  return [...urls].map((url) => toVariation(configured, url))
}

function publicUrlOf(settings: ProviderSettings & { readonly publicUrl?: unknown }): string | undefined {
  return typeof settings.publicUrl === 'string' ? settings.publicUrl : undefined
}

function toVariation(configured: string, url: string): Variation {
  return {
    axis: 'url',
    cause: 'url',
    message: `It was signed for ${withoutQuery(url)} (${differenceOf(configured, url)}), but the settings have ${withoutQuery(configured)}`,
    fix: 'Set publicUrl to the exact URL configured at the provider, whatever a proxy changes',
    apply: (attempt) => ({ ...attempt, settings: { ...attempt.settings, publicUrl: url } as ProviderSettings }),
  }
}

/** Hides the query and the user information, because both may contain secrets. */
function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, '?…').replace(/^(https?:\/\/)[^/@]*@/, '$1…@')
}

function differenceOf(one: string, other: string): string {
  const [a, b] = [new URL(one), new URL(other)]
  const names = [
    a.protocol === b.protocol ? '' : 'http or https',
    a.hostname === b.hostname ? '' : 'different host',
    portOf(one) === portOf(other) ? '' : 'different or omitted port',
    a.pathname === b.pathname ? '' : slashOnly(a, b) ? 'trailing slash' : 'different path',
    a.search === b.search ? '' : 'different query',
  ]
  return names.filter((name) => name !== '').join(', ') || 'different spelling'
}

function slashOnly(a: URL, b: URL): boolean {
  return a.pathname.replace(/\/$/, '') === b.pathname.replace(/\/$/, '')
}

function portOf(url: string): string {
  return /^https?:\/\/[^/?]*?:(\d+)(?:[/?]|$)/.exec(url)?.[1] ?? ''
}

/** Other URLs, from the option and from proxy headers. */
function basesOf(configured: string, { url, target, rawHeaders }: AddressHints): string[] {
  const lines = toLines(rawHeaders)
  const valuesOf = (name: string): string[] => lines.filter(([one]) => one === name).map(([, value]) => value.trim())
  const hosts = [...valuesOf('x-forwarded-host'), ...valuesOf('x-original-host'), ...valuesOf('host')]
  const { pathname, search } = new URL(configured)
  const paths = [pathname + search, ...(target?.startsWith('/') ? [target] : [])]
  const named = hosts.flatMap((host) => paths.map((path) => `https://${host}${path}`))
  const origin = new URL(configured).origin
  return [...(url === undefined ? [] : [url]), ...named, ...paths.map((path) => origin + path)].filter((one) =>
    URL.canParse(one),
  )
}

/** Variants of a URL that proxies and people produce. */
function spellingsOf(base: string, { query }: AddressHints): string[] {
  const [, scheme = '', host = '', port = '', path = '', search = ''] =
    /^(https?):\/\/([^/:?]+)(:\d+)?([^?]*)(\?.*)?$/s.exec(base) ?? []
  if (scheme === '') return [base]
  const schemes = ['https', 'http']
  const hosts = [host, host.startsWith('www.') ? host.slice(4) : `www.${host}`]
  const paths = [path, path.endsWith('/') ? path.slice(0, -1) : `${path}/`, path.replaceAll(/\/{2,}/g, '/')]
  const queries = [search, '', ...(query === '' ? [] : [`?${query}`])]
  return hosts.flatMap((oneHost) =>
    schemes.flatMap((oneScheme) =>
      [port, '', oneScheme === 'https' ? ':443' : ':80'].flatMap((onePort) =>
        paths.flatMap((onePath) => queries.map((one) => `${oneScheme}://${oneHost}${onePort}${onePath}${one}`)),
      ),
    ),
  )
}

function queryVariations(settings: ProviderSettings, { target, query }: AddressHints): Variation[] {
  if (SCHEMES.get(settings.scheme)?.usesQuery?.(settings) !== true) return []
  const mark = target?.indexOf('?') ?? -1
  const queries = new Set([mark === -1 ? '' : (target?.slice(mark + 1) ?? ''), '', decodePercent(query)])
  queries.delete(query)
  return [...queries].map((other) => ({
    axis: 'url',
    cause: 'url',
    message: `It was signed ${other === '' ? 'without the query' : 'with a different query than the received one'}`,
    fix: 'Pass the query unchanged, or remove it from the URL configured at the provider',
    apply: (attempt) => ({ ...attempt, delivery: { ...attempt.delivery, query: other } }),
  }))
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
