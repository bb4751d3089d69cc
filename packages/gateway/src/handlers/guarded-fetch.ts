import type { LookupAddress, LookupOptions } from 'node:dns'
import type { CallFetch } from '@oncehook/kernel/secrets/service-token'
import ipaddr from 'ipaddr.js'
import { Agent, type Dispatcher, fetch, type RequestInit } from 'undici'

/** Resolves a name to all its addresses, as `lookup` of node:dns/promises does. */
export type Lookup = (name: string, options: LookupOptions & { all: true }) => Promise<LookupAddress[]>

class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError'
  readonly code = 'EPRIVATE'
}

export function isPrivateAddress(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof PrivateAddressError
}

/** More than any answer that a call reads, as it is sent: a compressed one may have many bytes that become none. */
const MOST_ANSWER_BYTES = 2 * 1024 * 1024

const MOST_PARTS = 5_000
// Each may have as many headers as the answer itself.
const PARTS_OF_HEAD = 100

/**
 * Ends an answer of very many parts: pieces of its body, or answers before it, such as `103 Early Hints`. Each costs time in which
 * the process receives no delivery, and a handler can send them as long as a call lasts.
 */
const limitParts: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  let parts = 0
  const takes = (more: number, controller: Dispatcher.DispatchController): boolean => {
    parts += more
    if (parts > MOST_PARTS) controller.abort(new RangeError('The answer has too many parts'))
    return parts <= MOST_PARTS
  }
  const counted: Dispatcher.DispatchHandler = {
    onRequestStart: (...start) => handler.onRequestStart?.(...start),
    onResponseStart(controller, ...head) {
      if (takes(PARTS_OF_HEAD, controller)) handler.onResponseStart?.(controller, ...head)
    },
    onResponseData(controller, chunk) {
      if (takes(1, controller)) handler.onResponseData?.(controller, chunk)
    },
    onResponseEnd: (...end) => handler.onResponseEnd?.(...end),
    onResponseError: (...failure) => handler.onResponseError?.(...failure),
  }
  return dispatch(options, counted)
}

/**
 * Creates a fetch for one handler. The address of a name is checked when the connection is made, so that nobody who
 * controls the name can lead a call into the private network. Connections that are made at the same time share one
 * lookup: a process has two threads for lookups, and fulfilment and the database need them too.
 */
export function createGuardedFetch({
  lookup,
  mayBePrivate,
}: {
  lookup: Lookup
  /** Whether a name may lead to a private address. An address that is written out always may. */
  mayBePrivate: boolean
}): CallFetch {
  const shared = shareLookups(lookup)
  const connect = { lookup: toConnectLookup(mayBePrivate ? shared : onlyPublic(shared)) }
  const agent = new Agent({ allowH2: false, connect, maxResponseSize: MOST_ANSWER_BYTES }).compose(limitParts)
  // Only the types differ: undici's own fetch reads the same properties, and its responses have them.
  return async (address, init) =>
    (await fetch(address, { ...(init as unknown as RequestInit), dispatcher: agent })) as unknown as Response
}

function shareLookups(lookup: Lookup): Lookup {
  const inProgress = new Map<string, Promise<LookupAddress[]>>()
  return (name, options) => {
    const found = inProgress.get(name) ?? lookup(name, options).finally(() => inProgress.delete(name))
    inProgress.set(name, found)
    return found
  }
}

type Found = (error: Error | null, address: string | LookupAddress[], family?: number) => void

function toConnectLookup(lookup: Lookup) {
  return (name: string, options: LookupOptions, found: Found): void => {
    lookup(name, { ...options, all: true }).then(
      (addresses) => {
        const [first] = addresses
        if (options.all === true) found(null, addresses)
        else found(null, first?.address ?? '', first?.family)
      },
      (error: Error) => found(error, []),
    )
  }
}

function onlyPublic(lookup: Lookup): Lookup {
  return async (name, options) => {
    const allowed = (await lookup(name, options)).filter(({ address }) => isPublic(address))
    if (allowed.length === 0) throw new PrivateAddressError('The name of the host leads to a private address')
    return allowed
  }
}

/** Public by its range, but the agent of the host answers there in every network of Azure (learn.microsoft.com/azure, "168.63.129.16"). */
const OF_THE_HOST = '168.63.129.16'

/** All that is assigned of the public addresses of IPv6 (IANA, “Internet Protocol Version 6 Address Space”: global unicast). Others can hold one of this network. */
const PUBLIC_V6 = ipaddr.IPv6.parseCIDR('2000::/3')

export function isPublic(address: string): boolean {
  const read = ipaddr.process(address)
  if (read instanceof ipaddr.IPv6 && !read.match(PUBLIC_V6)) return false
  return read.range() === 'unicast' && read.toString() !== OF_THE_HOST
}
