/** What a probe was answered. */
export interface ProbeAnswer {
  readonly status: number
  readonly body: string
  /** The clock of the other side, in milliseconds since 1970; it tells whole seconds. Null where it does not tell. */
  readonly date: number | null
  /** Milliseconds since 1970 by our clock, in the middle between asking and being answered. */
  readonly askedAt: number
}

const TIMEOUT_MS = 5_000

/** Asks for an address. Null when there is no answer within 5 s. */
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
