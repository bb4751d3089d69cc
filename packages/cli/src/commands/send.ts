import { signTampered } from '@oncehook/simulator/tampering'
import { signDelivery } from '@oncehook/webhooks/signing/signer'
import type { AddCommand, CliContext, ExitCode } from '../command.ts'
import { findAddressedSystem, findGateway, toWebhookUrl } from '../options/gateway-address.ts'
import { writeJson, writeLines } from '../output.ts'
import { createOrdersClient, prepareOrders } from '../send/orders.ts'
import {
  deliverPayments,
  offerObjects,
  planPayment,
  readTypes,
  type SendRun,
  toEffect,
  watchPayments,
} from '../send/payments.ts'
import { addSendOptions, checkBatch, checkSendOptions, type SendOptions } from '../send/send-options.ts'
import { checkSend, describePlan, describeRun, toSendDocument } from '../send/send-report.ts'
import { findSigningIdentity, type SigningIdentity } from '../sign/signing-identity.ts'

export const addSendCommand: AddCommand = (program, { context, finish }) => {
  const command = program
    .command('send')
    .description('Deliver a signed payment event, and wait until the order reflects it.')
    .action(async (options: SendOptions) => finish(await send(options, context)))
  addSendOptions(command)
}

async function send(options: SendOptions, context: CliContext): Promise<ExitCode> {
  checkSendOptions(options)
  const run = await carryOut(options, context)
  const sendResult = checkSend(run)
  if (options.json) writeJson(context, toSendDocument(run, sendResult))
  else writeLines(context, [...describeRun(run), sendResult.summary])
  return sendResult.result === 'done' ? 0 : 1
}

async function carryOut(options: SendOptions, context: CliContext): Promise<SendRun> {
  const local = await findAddressedSystem(context.dataFolder, options.url)
  const gateway = await findGateway(options, { local, readEnv: context.readEnv })
  const identity = await findSigningIdentity(options, { local, now: context.now(), readEnv: context.readEnv })
  checkBatch(identity, options.batch)
  checkSigning(identity, options)
  const orders = createOrdersClient({ fetch: context.fetch, gateway })
  const prepared = await prepareOrders(orders, options)
  const payments = prepared.map((order) => planPayment(order, options, { ...context, signer: identity.signer }))
  if (!options.json) writeLines(context, describePlan(payments))

  const { provider, scheme } = identity
  await using _api = await offerObjects(identity, payments, context)
  const url = toWebhookUrl(gateway.url, provider)
  const begun = context.now()
  const deliveries = await deliverPayments(payments, { ...identity, url }, options, context)
  const timeoutMs = options.timeout * 1000
  const watched = await watchPayments({ ...context, orders }, { identity, payments, deliveries, begun, timeoutMs })
  return {
    provider,
    scheme,
    url,
    batch: options.batch,
    tampered: options.tamper,
    timeoutSeconds: options.timeout,
    effect: toEffect(readTypes(options), identity),
    deliveries,
    payments: watched,
  }
}

/** Signs a sample event, so that signing problems appear before an order is created. */
function checkSigning(
  { signer, secret, settings }: SigningIdentity,
  { batch, tamper, eventId = 'evt_1' }: SendOptions,
): void {
  const ids = { id: eventId, paymentId: 'pay_1', orderId: 'ord_1' }
  const event = { ...ids, type: 'payment.succeeded', amount: 1999, currency: 'EUR', occurredAt: 0 }
  const body = batch > 1 && signer.batch ? signer.batch.writeEvents([event]) : signer.writeEvent(event)
  const request = { body, secret, settings, now: 0, eventId }
  if (tamper === undefined) signDelivery(signer, request)
  else signTampered(signer, request, tamper)
}
