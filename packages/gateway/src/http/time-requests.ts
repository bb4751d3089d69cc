import type { RequestListener } from 'node:http'
import type { Histogram } from 'prom-client'
import { resourceAt } from './resources.ts'

/** Wraps a handler: a histogram records the duration of each answer in seconds, by route and status. */
export function timeRequests(handler: RequestListener, timer: Histogram<'route' | 'status'>): RequestListener {
  return (request, response) => {
    const startedAt = performance.now()
    const path = request.url?.split('?', 1)[0] ?? ''
    response.once('finish', () => {
      const route = resourceAt(path)?.template ?? 'unknown'
      timer.observe({ route, status: response.statusCode }, (performance.now() - startedAt) / 1_000)
    })
    handler(request, response)
  }
}
