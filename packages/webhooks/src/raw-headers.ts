/** The headers of a delivery: `rawHeaders` of Node.js, a `Headers` object, pairs, or an object with one property per header. */
export type DeliveryHeaders =
  | readonly string[]
  | Iterable<readonly [name: string, value: string]>
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** The headers as names and values alternately. Repeated lines stay separate if the source has them separate. */
export function rawHeadersOf(headers: DeliveryHeaders): readonly string[] {
  if (isIterable(headers)) return Array.from<string | readonly string[]>(headers).flat()
  return Object.entries<unknown>(headers).flatMap(([name, value]) =>
    // Cloud functions have null for no value, and serverless-http has a number for the length.
    [value ?? []].flat().flatMap((line) => [name, String(line)]),
  )
}

function isIterable(
  headers: DeliveryHeaders,
): headers is readonly string[] | Iterable<readonly [name: string, value: string]> {
  return Symbol.iterator in headers
}
