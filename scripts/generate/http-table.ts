import { RESOURCES } from '@oncehook/gateway/http/resources'
import { PARAMETERS } from '@oncehook/gateway/orders/openapi/components'
import { operationsOf } from '@oncehook/gateway/orders/openapi/openapi-document'
import { type PlacedOperation, responsesOf } from '@oncehook/gateway/orders/openapi/responses'

// These headers are described once, next to the table. Those of CORS and OPTIONS follow from the resource.
const TOLD = /^(?:X-Request-Id|Cache-Control|Vary|RateLimit(?:-Policy)?|Access-Control-.*)$/

/**
 * The table of statuses, headers and codes for each resource and method, in Markdown. It has the same source as the
 * OpenAPI document.
 */
export function describeHttp(): string {
  const head = ['resource', 'method', 'reads', 'answers, with headers', 'refuses, with codes and headers']
  const rows = RESOURCES.flatMap((resource) => {
    const placed = operationsOf(resource).filter(({ method }) => method !== 'HEAD' && method !== 'OPTIONS')
    return rowsOf(placed).map((cells) => [`\`${resource.template}\``, ...cells])
  })
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** A row for each operation of a resource. What all of them refuse is in a row before them. */
function rowsOf(placed: readonly PlacedOperation[]): string[][] {
  const [first, ...others] = placed
  const isShared = ({ code }: { code: string }): boolean =>
    others.length > 0 && placed.every(({ operation }) => operation.refusals?.some((one) => one.code === code))
  const rows = placed.map((one) => [
    methodsOf(one),
    reads(one),
    answers(one),
    refuses(one, (refusal) => !isShared(refusal)),
  ])
  const shared = first === undefined ? '' : refuses(first, isShared)
  return shared === '' ? rows : [['any', '', '', shared], ...rows]
}

function methodsOf({ method, resource }: PlacedOperation): string {
  return method === 'GET' && resource.methods.includes('HEAD') ? '`GET`, `HEAD`' : `\`${method}\``
}

function reads({ operation }: PlacedOperation): string {
  return (operation.parameters ?? [])
    .map((name) => PARAMETERS[name])
    .filter((parameter) => parameter.in !== 'path')
    .map((parameter) => {
      const name = parameter.in === 'query' ? `\`?${parameter.name}=\`` : `\`${parameter.name}\``
      return 'required' in parameter ? `${name} (required)` : name
    })
    .join(', ')
}

function answers(placed: PlacedOperation): string {
  return Object.keys(placed.operation.answers)
    .map((status) => [`**${status}**`, ...headersOf(placed, status)].join(' '))
    .join('; ')
}

function refuses(placed: PlacedOperation, isMeant: (refusal: { code: string }) => boolean): string {
  const byStatus = Map.groupBy((placed.operation.refusals ?? []).filter(isMeant), ({ status }) => status)
  return [...byStatus]
    .toSorted(([one], [other]) => one - other)
    .map(([status, refusals]) => {
      const headers = headersOf(placed, String(status))
      const codes = refusals.map(({ code }) => `\`${code}\``)
      return [`**${status}**`, ...codes, ...(headers.length === 0 ? [] : [`(${headers.join(' ')})`])].join(' ')
    })
    .join('; ')
}

function headersOf(placed: PlacedOperation, status: string): string[] {
  const found = responsesOf(placed).find((one) => one.status === status)
  return Object.keys(found?.response.headers ?? {})
    .filter((name) => !TOLD.test(name))
    .map((name) => `\`${name}\``)
}
