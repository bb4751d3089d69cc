import type { IncomingMessage } from 'node:http'
import { isIP, isIPv6 } from 'node:net'

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
  // Nearly all IPv4 addresses have this form if the listener accepts both kinds.
  const dotted = address.replace(/^::ffff:(?=\d+\.)/i, '')
  return isIPv6(dotted) ? networkOf(dotted) : dotted
}

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

/** The first half of an IPv6 address, or the IPv4 address in it. */
function networkOf(address: string): string {
  const groups = groupsOf(address)
  const [high = 0, low = 0] = groups.slice(6)
  if (HOLDING_IPV4.has(groups.slice(0, 6).join(':'))) return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')
}

// Mapped addresses (RFC 4291 section 2.5.5.2), and those of a NAT64 (RFC 6052 section 2.1): 64:ff9b::/96.
const HOLDING_IPV4 = new Set([[0, 0, 0, 0, 0, 0xffff].join(':'), [0x64, 0xff9b, 0, 0, 0, 0].join(':')])

/** The eight groups of an IPv6 address in any notation. */
function groupsOf(address: string): readonly number[] {
  // A zone names an interface of this machine.
  const [written = ''] = address.split('%')
  const plain = written.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = parts.slice(0, 4).map(Number)
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  })
  const [head = [], tail = []] = plain.split('::').map((half) => (half === '' ? [] : half.split(':')))
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0')
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16))
}
