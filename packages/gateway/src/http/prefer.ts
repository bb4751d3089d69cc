/** What `Prefer` asks for (RFC 7240): the representation, the least, or nothing said. Other preferences are passed over. */
export function returnPreference(header: string | string[] | undefined): 'minimal' | 'representation' | null {
  for (const preference of String(header ?? '').split(',')) {
    const [name = '', value = ''] = preference.split(';', 1)[0]?.split('=') ?? []
    const wanted = value.trim().replace(/^"(.*)"$/, '$1')
    if (name.trim().toLowerCase() !== 'return') continue
    return wanted === 'minimal' || wanted === 'representation' ? wanted : null
  }
  return null
}
