import { sign } from 'node:crypto'
import { readJson, writeJson } from '../json-body.ts'
import { toUuid } from '../made-ids.ts'
import { plainTypes } from '../payment-event.ts'
import { readPrivateKey } from '../private-key.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'
import { readTextSetting, SigningError, type SigningRequest } from '../signer.ts'

/**
 * AWS SNS (docs.aws.amazon.com/sns, "Verifying the signatures of Amazon SNS messages"), version 2: RSA with SHA-256 over names and
 * values of the body, each with a line feed behind it. The secret is the PEM private key, and the setting `topicArn` is required.
 * The gateway needs the certificate of the key in its setting `certificates`. The payment is the JSON in `Message`.
 */
export const sns = jsonSigner(plainTypes, toBody, {
  needsPrivateKey: true,
  settings: ['topicArn'],
  mapping: {
    read: {
      ...{ type: '/Message/type', object: '/Message/payment_id', order: '/Message/order_id' },
      ...{ amount: '/Message/amount', currency: '/Message/currency' },
    },
  },
  sign: ({ settings }) => [
    ['x-amz-sns-message-type', 'Notification'],
    ['x-amz-sns-topic-arn', readTextSetting(settings, 'topicArn') ?? ''],
  ],
  seal: { seal, signedOffsets },
})

function toBody({ id, type, paymentId, orderId, amount, currency, at }: SchemeEvent): object {
  return {
    Type: 'Notification',
    MessageId: toUuid(id),
    Message: JSON.stringify({ type, payment_id: paymentId, order_id: orderId, amount, currency }),
    Timestamp: at,
  }
}

function seal({ body, secret, settings }: SigningRequest): Uint8Array {
  const TopicArn = readTextSetting(settings, 'topicArn')
  if (!TopicArn) throw new SigningError('The setting topicArn is missing: SNS signs the ARN of the topic')
  const message: Readonly<Record<string, unknown>> = { ...readJson(body), TopicArn }
  if (message.Type !== 'Notification')
    throw new SigningError('SNS signs messages, but the body has no Type Notification')
  const names = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
  const text = names.flatMap((name) => (message[name] === undefined ? [] : [`${name}\n${message[name]}\n`])).join('')
  return writeJson({
    ...message,
    SignatureVersion: '2',
    Signature: sign('sha256', Buffer.from(text), readPrivateKey(secret, 'rsa')).toString('base64'),
    SigningCertURL: 'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-simulator.pem',
  })
}

/** The last character of the id of the message. */
function signedOffsets(body: Uint8Array): number[] {
  const text = Buffer.from(body).toString('latin1')
  return Array.from(text.matchAll(/"MessageId":"[^"]+(?=")/g), ({ 0: found, index }) => index + found.length - 1)
}
