import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Addressed, clientAddress } from './client-address.ts'

describe('clientAddress', () => {
  const request = (remoteAddress: string, forwarded?: string): Addressed => ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  })

  it.each([
    ['the socket, where no proxy is trusted', '192.0.2.1', '198.51.100.1', 0, '192.0.2.1'],
    ['an IPv4 address in its own form', '::ffff:192.0.2.1', undefined, 0, '192.0.2.1'],
    ['what the last proxy saw', '192.0.2.1', '10.0.0.1, 198.51.100.1', 1, '198.51.100.1'],
    ['what the outermost of two proxies saw', '192.0.2.1', '1.2.3.4, 198.51.100.1, 10.0.0.1', 2, '198.51.100.1'],
    ['the socket, where the list is too short', '192.0.2.1', '198.51.100.1', 2, '192.0.2.1'],
    ['the network of an IPv6 address', '2001:db8:1:2:3:4:5:6', undefined, 0, '2001:db8:1:2'],
    ['an IPv4 address behind a NAT64, in groups', '64:ff9b::c633:6407', undefined, 0, '198.51.100.7'],
    ['the network of a link, whatever its name', 'fe80::1%br-12ab.100:1', undefined, 0, 'fe80:0:0:0'],
    ['an address without its port', '192.0.2.1', '198.51.100.1:51234', 1, '198.51.100.1'],
    ['an IPv6 address without its brackets and port', '192.0.2.1', '[2001:db8:1:2::6]:443', 1, '2001:db8:1:2'],
    ['the socket for a text that is no address', '192.0.2.1', 'x'.repeat(1_000), 1, '192.0.2.1'],
    ['the socket for an empty entry', '192.0.2.1', '198.51.100.1,', 1, '192.0.2.1'],
  ] as const)('is %s', (...[, remoteAddress, forwarded, hops, address]) => {
    expect(clientAddress(request(remoteAddress, forwarded), hops)).toBe(address)
  })

  it('is found for every text that is an address', () => {
    const zone = fc.stringMatching(/^(%[0-9a-zA-Z.:-]{1,9})?$/)
    fc.assert(
      fc.property(fc.ipV6(), zone, (address, name) => {
        fc.pre(isIP(address + name) !== 0)
        expect(clientAddress(request(address + name), 0)).toMatch(/^(?:[0-9a-f]+(?::[0-9a-f]+){3}|[0-9.]+)$/)
      }),
    )
  })
})
