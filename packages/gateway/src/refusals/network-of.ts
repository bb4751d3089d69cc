/**
 * The network of a client address in the form of `clientAddress`: the /24 of an IPv4 address, the /48 of the first half
 * of an IPv6 address. Null for any other text.
 */
export function networkOf(address: string): string | null {
  const dot = address.lastIndexOf('.')
  if (dot > 0) return `${address.slice(0, dot)}.0/24`
  const [first, second, third] = address.split(':')
  return third === undefined ? null : `${first}:${second}:${third}::/48`
}
