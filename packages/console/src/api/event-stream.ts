/** How an event stream is requested. */
export interface EventStreamOptions {
  readonly fetch: typeof globalThis.fetch
  /** The headers, asked for before each request. */
  readonly headers: () => Readonly<Record<string, string>>
  /** Called for each answer that is not a stream, with its status. */
  readonly onRefused: (status: number) => void
}

/** One event as the server sent it. */
interface SentEvent {
  readonly type: string
  readonly data: string
  /** Undefined: the id stays as it was. */
  readonly id: string | undefined
}

const RETRY_MS = 3_000
const RETRY_REFUSED_MS = 10_000

/**
 * Server-sent events by `fetch`. The browser's own `EventSource` cannot send headers, and a token must not be in a URL.
 * Until it is closed, it reconnects and continues after the last event that it has received.
 */
export class EventStream extends EventTarget {
  readonly CONNECTING = 0
  readonly OPEN = 1
  readonly CLOSED = 2
  readyState: number = this.CONNECTING
  readonly #ending = new AbortController()
  #lastId = ''

  constructor(url: string, options: EventStreamOptions) {
    super()
    void this.#run(url, options)
  }

  /** Ends it. No event follows. */
  close(): void {
    this.readyState = this.CLOSED
    this.#ending.abort()
  }

  async #run(url: string, options: EventStreamOptions): Promise<void> {
    const { signal } = this.#ending
    while (!signal.aborted) {
      // A broken stream is tried again, whatever the cause.
      const waitMs = await this.#connect(url, options).catch(() => RETRY_MS)
      if (signal.aborted) return
      this.readyState = this.CONNECTING
      this.dispatchEvent(new Event('error'))
      await wait(waitMs, signal)
    }
  }

  /** Resolves at the end of the stream to how long to wait for the next attempt. */
  async #connect(url: string, { fetch, headers, onRefused }: EventStreamOptions): Promise<number> {
    const after = this.#lastId === '' ? {} : { 'last-event-id': this.#lastId }
    const response = await fetch(url, {
      headers: { accept: 'text/event-stream', ...headers(), ...after },
      ...{ cache: 'no-store', signal: this.#ending.signal },
    })
    if (!response.ok || response.body === null) {
      onRefused(response.status)
      return RETRY_REFUSED_MS
    }
    this.readyState = this.OPEN
    await this.#read(response.body)
    return RETRY_MS
  }

  async #read(body: NonNullable<Response['body']>): Promise<void> {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done || this.readyState === this.CLOSED) return
      const blocks = `${rest}${value}`.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) this.#tell(block)
    }
  }

  #tell(block: string): void {
    const { type, data, id } = readBlock(block)
    if (id !== undefined) this.#lastId = id
    if (this.readyState === this.CLOSED || (data === '' && type === 'message')) return
    this.dispatchEvent(new MessageEvent(type, { data, lastEventId: this.#lastId }))
  }
}

/** Reads the lines of one event. Lines that begin with a colon are comments. */
function readBlock(block: string): SentEvent {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? []
    const isMore = name === 'data' && fields.has(name)
    fields.set(name, isMore ? `${fields.get(name)}\n${value}` : value)
  }
  return { type: fields.get('event') || 'message', data: fields.get('data') ?? '', id: fields.get('id') }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}
