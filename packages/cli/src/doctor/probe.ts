/** The response to a probe. */
export interface ProbeAnswer {
  readonly status: number
  readonly body: string
  /** The server's Date header in milliseconds since 1970, with whole seconds. Null if missing. */
  readonly date: number | null
  /** Our time in the middle of the request, in milliseconds since 1970. */
  readonly askedAt: number
}

const TIMEOUT_MS = 5_000

/** Gets a URL. Null if there is no response within 5 s. */
export async function probe(
  { fetch, now }: { readonly fetch: typeof globalThis.fetch; readonly now: () => number },
  url: string,
  token?: string,
): Promise<ProbeAnswer | null> {
  const before = now()
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  try {
    const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
    const body = await response.text()
    const date = Date.parse(response.headers.get('date') ?? '')
    return { status: response.status, body, date: Number.isNaN(date) ? null : date, askedAt: (before + now()) / 2 }
  } catch {
    return null
  }
}
