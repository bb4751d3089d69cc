/** The headers of a delivery as servers have them: `rawHeaders` of Node.js, a `Headers` object or pairs, or one property each. */
export type DeliveryHeaders =
  | readonly string[]
  | Iterable<readonly [name: string, value: string]>
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** The same as names and values in turn. Repeated lines stay visible if the source shows them. */
export function rawHeadersOf(headers: DeliveryHeaders): readonly string[] {
  if (isIterable(headers)) return Array.from<string | readonly string[]>(headers).flat()
  return Object.entries(headers).flatMap(([name, value = []]) =>
    typeof value === 'string' ? [name, value] : value.flatMap((line) => [name, line]),
  )
}

function isIterable(
  headers: DeliveryHeaders,
): headers is readonly string[] | Iterable<readonly [name: string, value: string]> {
  return Symbol.iterator in headers
}
