import { createTransport } from 'nodemailer'
import { type Receipt, type ReceiptSink, receiptOutcomeUnknown, receiptRefused } from '../receipt-sink.ts'
import { formatAmount } from './format-amount.ts'

/** Where the mail server is, and whom the mails are from. */
export interface SmtpSinkOptions {
  readonly url: URL
  readonly from: string
}

const CONNECTIONS = 4
const CONNECT_MS = 2_000
const SILENCE_MS = 3_500

/**
 * Creates a sink that mails each receipt (RFC 5321). Mail knows no idempotency key, so an attempt that ended after the
 * message was handed over and before the server's answer is of unknown outcome.
 */
export function createSmtpSink({ url, from }: SmtpSinkOptions): ReceiptSink {
  const transport = createTransport({
    url: url.href,
    pool: true,
    maxConnections: CONNECTIONS,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    keyed: false,
    atOnce: CONNECTIONS,
    ownCodes: ['EENVELOPE', 'EMESSAGE'],
    async send(receipt, { signal }) {
      if (receipt.email === null) throw receiptRefused({ reason: 'no_email' })
      try {
        // An attempt that takes too long gives its connection up: the next one must not wait behind it.
        const to = { name: '', address: receipt.email }
        await transport.sendMail({ from, to, signal, ...toMail(receipt) })
      } catch (error) {
        throw readFailure(error)
      }
    },
    async close() {
      transport.close()
    },
  }
}

function toMail({ key, orderId, paymentId, customerId, amount, currency, paidAt }: Receipt) {
  const lines = [
    `Thank you. Your payment has arrived.`,
    '',
    `Order:    ${orderId}`,
    `Customer: ${customerId}`,
    `Amount:   ${formatAmount(amount, currency)}`,
    `Payment:  ${paymentId}`,
    `Paid at:  ${paidAt}`,
    `Receipt:  ${key}`,
  ]
  // The same for every attempt, so that mail servers and readers can tell a second copy.
  const messageId = `<${key}@oncehook>`
  return { subject: `Receipt for order ${orderId}`, text: `${lines.join('\n')}\n`, messageId }
}

interface MailFailure {
  readonly code?: string
  readonly syscall?: string
  readonly timeoutType?: string
  readonly responseCode?: number
}

/** An answer of the server is a known outcome, and so is a connection that never stood. All else may have arrived. */
function readFailure(error: unknown): unknown {
  const failure = error as MailFailure
  const { code, responseCode } = failure
  if (code !== 'EAUTH' && responseCode !== undefined && responseCode >= 500) {
    return receiptRefused({ responseCode }, { cause: error })
  }
  return responseCode !== undefined || neverConnected(failure)
    ? error
    : receiptOutcomeUnknown({ code }, { cause: error })
}

function neverConnected({ code, syscall, timeoutType }: MailFailure): boolean {
  if (code === 'ETIMEDOUT') return timeoutType !== undefined && timeoutType !== 'SOCKET_TIMEOUT'
  return syscall === 'connect' || code === 'EDNS' || code === 'ETLS' || code === 'EAUTH'
}
