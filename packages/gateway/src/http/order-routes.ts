import Router from '@koa/router'
import type { FulfilmentRouter } from '@oncehook/fulfilment/router'
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'
import type { Context } from 'koa'
import type { FulfilmentClient } from '../dispatch/fulfilment-client.ts'
import type { TokenHolders } from '../settings.ts'
import { principalOf } from './api-token.ts'
import { ask, conditionsOf, listInputOf, orderIdOf } from './order-requests.ts'
import { readJsonBody } from './read-json-body.ts'
import type { RequestState } from './request-context.ts'

/** What the routes of `/api/orders` work with. */
export interface OrderRoutesDeps {
  readonly fulfilment: FulfilmentClient
  readonly tokens: TokenHolders
  readonly maxBodyBytes: number
}

/** What an authenticated request carries with it. */
export interface OrderState extends RequestState {
  principal: string
}

type OrderContext = Context & { state: OrderState }
type Inputs = inferRouterInputs<FulfilmentRouter>['orders']
type Order = inferRouterOutputs<FulfilmentRouter>['orders']['get']

const COLLECTION = '/api/orders'
const ITEM = '/api/orders/:id'
const JSON_TYPES = { Accept: 'application/json' }
const PATCH_TYPES = { 'Accept-Patch': 'application/merge-patch+json, application/json' }

/** Creates the routes of `/api/orders`: each method is one procedure of fulfilment, which decides everything. */
export function createOrderRoutes(deps: OrderRoutesDeps): Router<OrderState> {
  const router = new Router<OrderState>({ sensitive: true, strict: true })
  const authenticate = (ctx: OrderContext, next: () => Promise<unknown>): Promise<unknown> => {
    ctx.state.principal = principalOf(ctx.req.headers.authorization, deps.tokens)
    return next()
  }
  router.post(COLLECTION, authenticate, (ctx) => createOrder(deps, ctx))
  router.get(COLLECTION, authenticate, (ctx) => listOrders(deps, ctx))
  router.get(ITEM, authenticate, (ctx) => getOrder(deps, ctx))
  router.put(ITEM, authenticate, (ctx) => putOrder(deps, ctx))
  router.patch(ITEM, authenticate, (ctx) => patchOrder(deps, ctx))
  router.delete(ITEM, authenticate, (ctx) => deleteOrder(deps, ctx))
  return router
}

async function createOrder({ fulfilment, maxBodyBytes }: OrderRoutesDeps, ctx: OrderContext): Promise<void> {
  const order = (await readJsonBody(ctx, maxBodyBytes, JSON_TYPES)) as Inputs['create']['order']
  const { order: created } = await ask(fulfilment.orders.create.mutate({ order }, trace(ctx)))
  ctx.set('Location', `${COLLECTION}/${created.id}`)
  sendOrder(ctx, 201, created)
}

async function listOrders({ fulfilment }: OrderRoutesDeps, ctx: OrderContext): Promise<void> {
  const page = await ask(fulfilment.orders.list.query(listInputOf(ctx) as Inputs['list'], trace(ctx)))
  ctx.set('Cache-Control', CACHE)
  ctx.body = page
}

async function getOrder({ fulfilment }: OrderRoutesDeps, ctx: OrderContext): Promise<void> {
  sendOrder(ctx, 200, await ask(fulfilment.orders.get.query({ id: orderIdOf(ctx) }, trace(ctx))))
}

async function putOrder({ fulfilment, maxBodyBytes }: OrderRoutesDeps, ctx: OrderContext): Promise<void> {
  const id = orderIdOf(ctx)
  const order = (await readJsonBody(ctx, maxBodyBytes, JSON_TYPES)) as Inputs['put']['order']
  const put = await ask(fulfilment.orders.put.mutate({ id, order, ...conditionsOf(ctx) }, trace(ctx)))
  // The members that the server adds make the answer another representation than the one sent: this says it is current.
  ctx.set('Content-Location', `${COLLECTION}/${id}`)
  sendOrder(ctx, put.created ? 201 : 200, put.order)
}

async function patchOrder({ fulfilment, maxBodyBytes }: OrderRoutesDeps, ctx: OrderContext): Promise<void> {
  const id = orderIdOf(ctx)
  const patch = await readJsonBody(ctx, maxBodyBytes, PATCH_TYPES)
  const { ifMatch } = conditionsOf(ctx)
  const input = { id, patch, ...(ifMatch === undefined ? {} : { ifMatch }) }
  sendOrder(ctx, 200, await ask(fulfilment.orders.patch.mutate(input as Inputs['patch'], trace(ctx))))
}

async function deleteOrder({ fulfilment }: OrderRoutesDeps, ctx: OrderContext): Promise<void> {
  const { ifMatch } = conditionsOf(ctx)
  const input = { id: orderIdOf(ctx), ...(ifMatch === undefined ? {} : { ifMatch }) }
  await ask(fulfilment.orders.delete.mutate(input, trace(ctx)))
  ctx.status = 204
}

// No cache may answer for us, and none may recode the body: that would weaken the tag, and every later If-Match fails.
const CACHE = 'private, no-cache, no-transform'

function sendOrder(ctx: OrderContext, status: number, order: Order): void {
  ctx.status = status
  ctx.set({ ETag: `"${order.version}"`, 'Cache-Control': CACHE })
  ctx.body = order
}

function trace(ctx: OrderContext): { context: { requestId: string } } {
  return { context: { requestId: ctx.state.requestId } }
}
