// The order beside its event: for a mismatch both amounts, and the correction of the order.

import { decimalsOf, formatAmount, toDecimal } from '@oncehook/kernel/money/currencies'
import { useRef, useState } from 'react'
import { type EventDetails, operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/session.ts'
import { DialogButton } from '../dialogs/dialog-button.tsx'
import { ReasonDialog } from '../dialogs/reason-dialog.tsx'
import { HintedField } from '../parts/hinted-field.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Section } from '../parts/section.tsx'
import { texts } from '../texts/texts.ts'
import { Marked, NO_ORDER, type Order, OrderFacts, useOrder } from './order-facts.tsx'

/** The order of an event, and its correction if it does not fit. */
export function EventOrder({ event }: { readonly event: EventDetails }) {
  const { data: order, error } = useOrder(event.orderId)
  const isMismatch = event.state === 'dead' && /^(?:amount|currency)_mismatch$/.test(event.reason ?? '')
  const paid = order ? paidOf(event, order) : null
  const fits = order && paid === formatAmount(order.amountDue, order.currency)
  const differing = paid === null ? 'an amount that cannot be read' : `${paid}: does not fit`
  return (
    <Section title="Order">
      <QueryProblem error={error} />
      {order === null && <p>{NO_ORDER}</p>}
      {order && <OrderFacts order={order} paid={isMismatch && !fits ? <Marked look="bad" text={differing} /> : paid} />}
      {order && isMismatch && !fits && (
        <p className="mt-2">
          <DialogButton
            text="Correct the order…"
            needs="orders"
            why={order.status === 'paid' ? 'The order is paid.' : null}
            draw={(close) => <Correction event={event} order={order} onClose={close} />}
          />
        </p>
      )}
    </Section>
  )
}

/** What an event says that was paid. Without a currency, it means that of the order. */
function paidOf({ amount, currency }: EventDetails, order: Order): string | null {
  return amount === null ? null : formatAmount(amount, (currency ?? order.currency).toUpperCase())
}

interface CorrectionProps {
  readonly event: EventDetails
  /** As the operator has seen it. */
  readonly order: Order
}

/** Corrects the order, if it is still as it was seen, and replays the event. */
function Correction({ event, order, onClose }: CorrectionProps & { readonly onClose: () => void }) {
  const version = useRef(order.version)
  const mayReplay = useMayDo('operate')
  const { id } = order
  const act = async (reason: string, form: FormData): Promise<void> => {
    const corrected = { ...readCorrection(form, order), version: version.current }
    const answer = await operator.orders.correct.mutate({ id, reason, ...corrected })
    // If the replay fails, the same can be done again.
    version.current = answer.order.version
    if (mayReplay) await operator.events.replay.mutate({ ids: [event.id], reason })
  }
  return (
    <ReasonDialog
      title="Correct what the order costs"
      hint="First find out which amount is right. The audit log records what the order cost before and after."
      submit={mayReplay ? 'Correct the order and replay' : 'Correct the order'}
      fields={<CorrectionFields event={event} order={order} />}
      changes={['orders', 'events']}
      {...{ act, onClose }}
    />
  )
}

type Content = Pick<Order, 'currency' | 'items'>

function CorrectionFields({ event, order }: CorrectionProps) {
  const [{ currency, items }, setContent] = useState<Content>(order)
  const decimals = decimalsOf(currency)
  const due = items.reduce((sum, { quantity, unitAmount }) => sum + quantity * unitAmount, 0)
  const after = Number.isSafeInteger(due) ? formatAmount(due, currency) : texts.none
  const before = formatAmount(order.amountDue, order.currency)
  const paid = paidOf(event, order)
  const rows = order.items.map((one, at) => ({
    key: `${at}`,
    cells: [
      one.sku,
      <input
        key="quantity"
        {...{ type: 'number', name: 'quantity', min: 1, required: true, className: 'input w-24' }}
        aria-label={`Quantity ${one.sku}`}
        defaultValue={one.quantity}
      />,
      <input
        key="amount"
        inputMode="decimal"
        {...{ name: 'unitAmount', required: true, className: 'input w-32' }}
        pattern={decimals === 0 ? '\\d+' : `\\d+(\\.\\d{1,${decimals}})?`}
        title={`An amount such as ${toDecimal(1999, currency)}`}
        aria-label={`Unit amount ${one.sku}`}
        defaultValue={toDecimal(one.unitAmount, order.currency)}
      />,
    ],
  }))
  return (
    <fieldset
      onInput={({ currentTarget: { form } }) => form && setContent(readCorrection(new FormData(form), order))}
      className="min-w-0"
    >
      <PlainTable caption="Item" heads={['Item', 'Quantity', 'Unit amount']} rows={rows} />
      <HintedField
        {...{ name: 'currency', pattern: '[A-Z]{3}', required: true, className: 'input w-20' }}
        label="Currency"
        hint="ISO 4217, such as EUR"
        defaultValue={order.currency}
      />
      <p role="status" className="font-semibold">
        {`Amount due: ${before} → ${after}.`}
        {paid !== null && ` The event says ${paid}${after === paid ? ', which fits' : ''}.`}
      </p>
    </fieldset>
  )
}

function readCorrection(form: FormData, order: Order): Content {
  const currency = String(form.get('currency'))
  const [quantities, amounts] = [form.getAll('quantity'), form.getAll('unitAmount')]
  const items = order.items.map(({ sku }, at) => ({
    ...{ sku, quantity: Number(quantities[at]), unitAmount: toMinorUnits(String(amounts[at]), currency) },
  }))
  return { currency, items }
}

/** `19.9` EUR is 1990, exactly. NaN if it is no amount. */
function toMinorUnits(text: string, currency: string): number {
  const [whole = '', part = '', ...more] = text.split('.')
  const decimals = decimalsOf(currency)
  const isAmount = /^\d+$/.test(whole) && part.length <= decimals && more.length === 0
  return isAmount ? Number(whole + part.padEnd(decimals, '0')) : Number.NaN
}
