/** A call of the gateway to a handler, before it is signed. */
export interface PlannedCall {
  /** A task for `https`; the input with a list of tasks for `trpc`. */
  readonly body: Readonly<Record<string, unknown>>
  /** The secrets that sign it. `trpc` uses the first. */
  readonly secrets: readonly string[]
  /** Milliseconds since 1970. */
  readonly signedAt: number
  /** The service that the token is for. */
  readonly audience: string
  /** The same call is sent once before. */
  readonly isRepeated: boolean
  /** Its JSON is written with spaces and escapes. */
  readonly hasSpaces: boolean
}

const HOUR_MS = 3_600_000
const OTHER_SECRET = `whsec_${Buffer.from('a secret of somebody else, 32 by').toString('base64')}`

type Change = (call: PlannedCall, parameters: Readonly<Record<string, unknown>>) => PlannedCall

const CHANGES: Readonly<Record<string, Change>> = {
  'the task is new': (call) => call,
  'the handler does not know the type': (call) => call,
  'the delivery is not JSON': (call) => call,
  'the task was sent before': (call) => ({ ...call, isRepeated: true }),
  'the provider writes JSON with spaces and escapes': (call) => ({ ...call, hasSpaces: true }),
  'the body is large': (call, { bytes }) => ({ ...call, body: pad(call.body, Number(bytes)) }),
  'the sender signs with a new and an old secret': (call) => ({ ...call, secrets: [OTHER_SECRET, ...call.secrets] }),
  'the sender has another secret': (call) => ({ ...call, secrets: [OTHER_SECRET] }),
  'the sender signed an hour ago': (call) => ({ ...call, signedAt: call.signedAt - HOUR_MS }),
  'the token is for another service': (call) => ({ ...call, audience: 'another' }),
}

/** The states that the caller of a handler creates: by how the call is written, signed or sent. */
export const CALLER_STATES: readonly string[] = Object.keys(CHANGES)

/** A call as it is in a state. A state of the handler changes nothing. */
export function inState(
  call: PlannedCall,
  { name, params = {} }: { readonly name: string; readonly params?: Readonly<Record<string, unknown>> },
): PlannedCall {
  return CHANGES[name]?.(call, params) ?? call
}

/** Pads the body of the first task. */
function pad(body: PlannedCall['body'], bytes: number): PlannedCall['body'] {
  const padded = (task: unknown): object => {
    const known = task as { readonly body?: object }
    return { ...known, body: { ...known.body, padding: 'x'.repeat(bytes) } }
  }
  const { events } = body
  return Array.isArray(events) ? { ...body, events: events.map(padded) } : { ...padded(body) }
}
