import { methodNotAllowed, notFound } from '@oncehook/kernel/error-codes'
import type { Middleware } from 'koa'
import type { RequestState } from '../request-context.ts'
import { type Resource, resourceAt } from '../resources.ts'
import { answerOptions } from '../route-guard.ts'
import { providerNameOf, type WebhookDeps } from './webhook-handler.ts'

/**
 * Creates the middleware that answers all requests to webhook paths except deliveries: the GET with which some providers
 * check an endpoint, OPTIONS, unknown providers and other methods. Every other path is passed to the next middleware.
 */
export function createWebhookChecks({
  providers,
  clock,
}: Pick<WebhookDeps, 'providers' | 'clock'>): Middleware<RequestState> {
  return async (ctx, next) => {
    const name = providerNameOf(ctx.req)
    if (name === null) return next()
    const provider = providers().get(name)
    const resource = resourceAt(ctx.path)
    if (provider === undefined || resource === undefined) throw notFound()
    const check = ctx.method === 'GET' ? provider.answerCheck?.(ctx.querystring, clock.now()) : null
    if (check) {
      ctx.set('Cache-Control', 'no-store')
      ctx.body = check
      return
    }
    const methods = methodsOf(resource, provider.answerCheck !== undefined)
    if (ctx.method !== 'OPTIONS') throw methodNotAllowed({}, { headers: { Allow: methods.join(', ') } })
    answerOptions(ctx, { ...resource, methods })
  }
}

function methodsOf({ methods, takenBySome = [] }: Resource, isChecked: boolean): Resource['methods'] {
  return isChecked ? [...takenBySome, ...methods] : methods
}
