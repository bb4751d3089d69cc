import type { IncomingMessage } from 'node:http'
import { isIP, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** The parts of a request that show its origin. */
export interface Addressed extends Pick<IncomingMessage, 'headers'> {
  readonly socket: Pick<IncomingMessage['socket'], 'remoteAddress'>
}

/**
 * The client address to which a request counts: the address of the socket or, with trusted proxies, the address that the
 * outermost proxy saw. An IPv6 address is reduced to its /64, the network of one customer. If it contains an IPv4 address,
 * that one counts. If the entry is not an address, the address of the socket counts.
 */
export function clientAddress(request: Addressed, trustedHops: number): string {
  const claimed = trustedHops > 0 ? claimedAddress(request, trustedHops) : null
  const address = claimed ?? request.socket.remoteAddress ?? ''
  if (!address.includes(':')) return address
  // Nearly all IPv4 addresses have this form if the listener accepts both kinds.
  const dotted = address.replace(ZONE, '').replace(/^::ffff:(?=\d+\.)/i, '')
  return isIPv6(dotted) ? networkOf(dotted) : dotted
}

// The name of an interface, which ipaddr.js reads only if it has letters and digits alone.
const ZONE = /%.*$/s

// Not `proxy-addr`: if the list has fewer entries than trusted proxies, it returns an entry that none of them vouches for,
// and it neither removes ports nor checks that the entry is an address.
function claimedAddress({ headers }: Addressed, trustedHops: number): string | null {
  const entry = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .at(-trustedHops)
    ?.trim()
  if (entry === undefined) return null
  const [, bracketed, dotted] = WITH_PORT.exec(entry) ?? []
  const address = bracketed ?? dotted ?? entry
  return isIP(address) === 0 ? null : address
}

// Some proxies add the port, which changes with every connection.
const WITH_PORT = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]{7,15}):\d{1,5})$/

const NAT64 = ipaddr.IPv6.parse('64:ff9b::')

/** The first half of an IPv6 address, or the IPv4 address in it: mapped (RFC 4291), or behind a NAT64 (RFC 6052). */
function networkOf(text: string): string {
  const address = ipaddr.process(text)
  if (address instanceof ipaddr.IPv4) return address.toString()
  if (address.match(NAT64, 96)) return address.toByteArray().slice(12).join('.')
  return address.parts
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')
}
