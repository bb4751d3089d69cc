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
  const rows = RESOURCES.flatMap((resource) =>
    operationsOf(resource)
      .filter(({ method }) => method !== 'HEAD')
      .map((placed) => [
        `\`${resource.template}\``,
        methodsOf(placed),
        reads(placed),
        answers(placed),
        refuses(placed),
      ]),
  )
  const head = ['resource', 'method', 'reads', 'answers, with headers', 'refuses, with codes and headers']
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
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

function refuses(placed: PlacedOperation): string {
  const byStatus = Map.groupBy(placed.operation.refusals ?? [], ({ status }) => status)
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
