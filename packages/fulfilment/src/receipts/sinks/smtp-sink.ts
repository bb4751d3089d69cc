import { formatAmount } from '@oncehook/kernel/money/currencies'
import { createTransport } from 'nodemailer'
import { toOneLine } from '../../orders/order.ts'
import { type Receipt, type ReceiptSink, receiptOutcomeUnknown, receiptRefused } from '../receipt-sink.ts'

export interface SmtpSinkOptions {
  readonly url: URL
  readonly from: string
  /** Whether the server must offer TLS. If not, TLS is used when offered. */
  readonly requireTls: boolean
}

const CONNECTIONS = 4
const CONNECT_MS = 2_000
const SILENCE_MS = 3_500
const OWN_CODES = ['EENVELOPE', 'EMESSAGE']

/**
 * Creates a sink that mails each receipt (RFC 5321). Mail has no idempotency key, so the outcome is unknown if an
 * attempt ends after the message was handed over and before the server replies.
 */
export function createSmtpSink({ url, from, requireTls }: SmtpSinkOptions): ReceiptSink {
  const transport = createTransport({
    url: withTlsRule(url, requireTls).href,
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
    ownCodes: OWN_CODES,
    async send(receipt, signal) {
      if (receipt.email === null) throw receiptRefused({ reason: 'no_email' })
      try {
        // An attempt that takes too long drops its connection, so that the next one does not wait for it.
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

function withTlsRule(url: URL, requireTls: boolean): URL {
  const ruled = new URL(url)
  ruled.searchParams.set('requireTLS', String(requireTls))
  return ruled
}

function toMail({ key, orderId, paymentId, customerId, amount, currency, paidAt }: Receipt) {
  const lines = [
    `Thank you. Your payment has arrived.`,
    '',
    `Order:    ${orderId}`,
    `Customer: ${toOneLine(customerId)}`,
    `Amount:   ${formatAmount(amount, currency)}`,
    `Payment:  ${paymentId}`,
    `Paid at:  ${paidAt}`,
    `Receipt:  ${key}`,
  ]
  // The same id for every attempt, so that mail servers and readers can recognise a second copy.
  const messageId = `<${key}@oncehook>`
  return { subject: `Receipt for order ${orderId}`, text: `${lines.join('\n')}\n`, messageId }
}

interface MailFailure {
  readonly code?: string
  readonly command?: string
  readonly originalCode?: string
  readonly syscall?: string
  readonly timeoutType?: string
  readonly responseCode?: number
}

/**
 * The outcome is known if the server replied or the connection was never established. Otherwise the mail may have
 * arrived.
 */
function readFailure(error: unknown): unknown {
  const failure = error as MailFailure
  const { code, responseCode } = failure
  if (isWithoutTls(failure)) return withoutTls(error)
  if (code === 'ECONNECTION' && failure.command === 'EHLO') return error
  if (code === 'EENVELOPE' && failure.command === 'MAIL FROM') return senderRefused(error)
  if (isRefusedForGood(failure)) return receiptRefused({ responseCode }, { cause: error })
  return responseCode !== undefined || neverConnected(failure)
    ? error
    : receiptOutcomeUnknown({ code }, { cause: error })
}

// RFC 5321 section 4.2.3: the mailbox is full, which its owner can change.
const MAILBOX_FULL = 552

/** Whether the server rejects this mail permanently. A rejected greeting, login or sender concerns every mail. */
function isRefusedForGood({ code = '', responseCode = 0 }: MailFailure): boolean {
  return OWN_CODES.includes(code) && responseCode >= 500 && responseCode !== MAILBOX_FULL
}

function senderRefused(cause: unknown): Error {
  const message = 'The mail server rejects the sender address in RECEIPT_FROM'
  return Object.assign(new Error(message, { cause }), { code: 'mail_sender_refused' })
}

/** Whether TLS failed. No mail was started, and every mail fails until this is fixed. */
function isWithoutTls({ code, originalCode = '' }: MailFailure): boolean {
  return code === 'ETLS' || (code === 'ESOCKET' && CERTIFICATE_PROBLEM.test(originalCode))
}

// OpenSSL error codes for an unacceptable certificate, and Node's code for a wrong host name.
const CERTIFICATE_PROBLEM = /CERT|^UNABLE_TO_|^INVALID_(?:CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$|^HOSTNAME_MISMATCH$/

function withoutTls(cause: unknown): Error {
  const message = 'The mail server offers no valid TLS, which RECEIPT_SINK requires unless it ends in ?requireTLS=false'
  return Object.assign(new Error(message, { cause }), { code: 'mail_without_tls' })
}

function neverConnected({ code, syscall, timeoutType }: MailFailure): boolean {
  if (code === 'ETIMEDOUT') return timeoutType !== undefined && timeoutType !== 'SOCKET_TIMEOUT'
  return syscall === 'connect' || code === 'EDNS' || code === 'EAUTH'
}
