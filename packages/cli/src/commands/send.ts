import type { CliContext } from '../cli-context.ts'
import type { AddCommand } from '../command.ts'
import type { ExitCode } from '../exit-code.ts'
import { findAddressedSystem, findGateway, toWebhookUrl } from '../gateway-address.ts'
import { createOrdersClient } from '../orders-client.ts'
import { writeJson, writeLines } from '../output.ts'
import { deliverPayments } from '../sending/deliver-payments.ts'
import { judgeSend } from '../sending/judge-send.ts'
import { planPayment, readTypes, toEffect } from '../sending/plan-payment.ts'
import { prepareOrders } from '../sending/prepare-orders.ts'
import { addSendOptions, checkSendOptions, type SendOptions } from '../sending/send-options.ts'
import { describePlan, describeRun, toSendDocument } from '../sending/send-report.ts'
import type { SendRun } from '../sending/send-run.ts'
import { watchPayments } from '../sending/watch-payments.ts'
import { findSigningIdentity } from '../signing-identity.ts'

/** `oncehook send`: makes an order, delivers its signed payment, and waits until the order shows it. */
export const addSendCommand: AddCommand = (program, { context, finish }) => {
  const command = program
    .command('send')
    .description('Deliver a signed payment event, and wait until its order shows it.')
    .action(async (options: SendOptions) => finish(await send(options, context)))
  addSendOptions(command)
}

async function send(options: SendOptions, context: CliContext): Promise<ExitCode> {
  checkSendOptions(options)
  const run = await carryOut(options, context)
  const verdict = judgeSend(run)
  if (options.json) writeJson(context, toSendDocument(run, verdict))
  else writeLines(context, [...describeRun(run), verdict.summary])
  return verdict.result === 'done' ? 0 : 1
}

async function carryOut(options: SendOptions, context: CliContext): Promise<SendRun> {
  const local = await findAddressedSystem(context.dataFolder, options.url)
  const gateway = await findGateway(options, local)
  const identity = await findSigningIdentity(options, { local, now: context.now() })
  // What cannot be signed is found out before an order is made for it.
  identity.signer.sign({ ...identity, body: Buffer.alloc(0), now: 0, eventId: options.eventId ?? 'evt_1' })
  const orders = createOrdersClient({ fetch: context.fetch, gateway })
  const prepared = await prepareOrders(orders, options)
  const payments = prepared.map((order) => planPayment(order, options, context))
  if (!options.json) writeLines(context, describePlan(payments))

  const { provider, scheme, signer } = identity
  const url = toWebhookUrl(gateway.url, provider)
  const begun = context.now()
  const deliveries = await deliverPayments({ identity, url, payments }, options, context)
  const timeoutMs = options.timeout * 1000
  const watched = await watchPayments({ ...context, orders }, { signer, payments, deliveries, begun, timeoutMs })
  return {
    provider,
    scheme,
    url,
    corruption: options.corrupt,
    timeoutSeconds: options.timeout,
    effect: toEffect(readTypes(options), signer),
    deliveries,
    payments: watched,
  }
}
