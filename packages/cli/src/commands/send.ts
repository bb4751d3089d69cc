import { signDelivery } from '@oncehook/webhooks/signing/signer'
import type { AddCommand, CliContext, ExitCode } from '../command.ts'
import { findAddressedSystem, findGateway, toWebhookUrl } from '../options/gateway-address.ts'
import { writeResult } from '../output.ts'
import { createOrdersClient, prepareOrders } from '../send/orders.ts'
import { deliverPayments, offerObjects, planPayment, type SendRun, toEffect, watchPayments } from '../send/payments.ts'
import { addSendOptions, checkSendOptions, type SendOptions } from '../send/send-options.ts'
import { checkSend, describeRun, toSendDocument } from '../send/send-report.ts'
import { findSigningIdentity } from '../sign/signing-identity.ts'

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
  const result = checkSend(run)
  writeResult(context, options, toSendDocument(run, result), [...describeRun(run), result.summary])
  return result.result === 'done' ? 0 : 1
}

const SAMPLE = {
  ...{ id: 'evt_1', type: 'payment.succeeded', paymentId: 'pay_1', orderId: 'ord_1' },
  ...{ amount: 1999, currency: 'EUR', occurredAt: 0 },
}

async function carryOut(options: SendOptions, context: CliContext): Promise<SendRun> {
  const local = await findAddressedSystem(context.dataFolder, options.url)
  const gateway = await findGateway(options, { local, readEnv: context.readEnv })
  const identity = await findSigningIdentity(options, { local, now: context.now(), readEnv: context.readEnv })
  const { provider, scheme, signer, secret, settings } = identity
  // Signing problems appear before an order is created.
  const body = signer.writeEvent(SAMPLE)
  signDelivery(signer, { body, secret, settings, now: 0, eventId: options.eventId ?? SAMPLE.id })
  const orders = createOrdersClient({ fetch: context.fetch, gateway })
  const prepared = await prepareOrders(orders, options)
  const payments = prepared.map((order) => planPayment(order, options, { ...context, signer }))
  await using _api = await offerObjects(identity, payments, context)
  const url = toWebhookUrl(gateway.url, provider)
  const deliveries = await deliverPayments(payments, { ...identity, url }, options, context)
  const effect = toEffect(options.type, identity)
  const sent = { provider, scheme, url, timeoutSeconds: options.timeout, effect, deliveries }
  return { ...sent, payments: await watchPayments({ ...context, orders }, payments, sent) }
}
