/** A condition as the client means it. The tag depends on what the client has seen. */
export type Condition = 'known' | 'oldest' | 'next' | 'star' | 'weak' | 'list' | 'never'

/** One request of a client, as it was sent. Its conditions are header values. */
export interface ModelRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'PATCH' | 'DELETE' | 'POST'
  /** The order it is about; null: a new one under an idempotency key. */
  readonly path: string | null
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string | undefined
  /** What it writes. */
  readonly note: string
  readonly key?: string
}

/** The answers that a client may get. */
export interface ModelAnswer {
  readonly status: number
  readonly version?: number
  readonly note?: string
  /** For a POST: the text that its answer must equal; undefined if the answer is a new one. */
  readonly text?: string
}

interface ModelOrder {
  readonly version: number
  /** null: deleted. */
  readonly note: string | null
}

/** The state of the service: the orders, and the answers under each key. */
export interface ModelState {
  readonly orders: ReadonlyMap<string, ModelOrder>
  readonly keys: ReadonlyMap<string, { readonly note: string; readonly text: string }>
}

/** Nothing is known. */
export const EMPTY: ModelState = { orders: new Map(), keys: new Map() }

/** The effect of a single request on the service, and its answer. `text` is the real answer. */
export function step(state: ModelState, request: ModelRequest, text: string): readonly [ModelState, ModelAnswer] {
  if (request.path === null) return post(state, request, text)
  const order = state.orders.get(request.path)
  const live = order === undefined || order.note === null ? null : { version: order.version, note: order.note }
  const after = decide({ request, live, tombstone: order?.version ?? 0 })
  if (after.order === undefined) return [state, after.answer]
  const orders = new Map(state.orders).set(request.path, after.order)
  return [{ ...state, orders }, after.answer]
}

interface Situation {
  readonly request: ModelRequest
  readonly live: { readonly version: number; readonly note: string } | null
  /** The version of what was there before; 0 for an id never used. */
  readonly tombstone: number
}

interface Decision {
  readonly answer: ModelAnswer
  /** The order afterwards, if it changes. */
  readonly order?: ModelOrder
}

function decide(situation: Situation): Decision {
  const { request, live } = situation
  if (live === null) return decideAbsent(situation)
  const { version } = live
  if (request.method === 'PATCH' && request.ifMatch === undefined) return { answer: { status: 428 } }
  if (request.ifMatch !== undefined && !names(request.ifMatch, version, false))
    return { answer: { status: 412, version } }
  if (request.ifNoneMatch !== undefined && names(request.ifNoneMatch, version, true)) {
    return { answer: { status: isRead(request) ? 304 : 412, version } }
  }
  if (isRead(request)) return { answer: { status: 200, ...live } }
  if (request.method === 'DELETE') return { answer: { status: 204 }, order: { version: version + 1, note: null } }
  const after = { version: request.note === live.note ? version : version + 1, note: request.note }
  return { answer: { status: 200, ...after }, order: after }
}

function decideAbsent({ request, tombstone }: Situation): Decision {
  if (request.method === 'DELETE') return { answer: { status: 204 } }
  if (request.method !== 'PUT') return { answer: { status: 404 } }
  if (request.ifMatch !== undefined) return { answer: { status: 412 } }
  const made = { version: tombstone + 1, note: request.note }
  return { answer: { status: 201, ...made }, order: made }
}

function post(state: ModelState, { key, note }: ModelRequest, text: string): readonly [ModelState, ModelAnswer] {
  const known = key === undefined ? undefined : state.keys.get(key)
  if (known === undefined) {
    const keys = key === undefined ? state.keys : new Map(state.keys).set(key, { note, text })
    return [
      { ...state, keys },
      { status: 201, version: 1, note },
    ]
  }
  return [state, known.note === note ? { status: 201, version: 1, note, text: known.text } : { status: 422 }]
}

function isRead({ method }: ModelRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Whether a list of tags names a version. The model needs no grammar, because it wrote the list itself. */
function names(list: string, version: number, weakly: boolean): boolean {
  if (list === '*') return true
  return list.split(', ').some((tag) => tag === `"${version}"` || (weakly && tag === `W/"${version}"`))
}
