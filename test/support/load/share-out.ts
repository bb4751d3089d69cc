import type { PaymentProvider } from '@oncehook/simulator/payment-provider'

/** One provider in front of several gateways: deliveries go to each in turn, so that a repeated one goes elsewhere. */
export function shareOut(providers: readonly PaymentProvider[]): PaymentProvider {
  let turn = 0
  const next = (): PaymentProvider => {
    const provider = providers[turn % providers.length]
    if (provider === undefined) throw new Error('There is no gateway to deliver to')
    turn += 1
    return provider
  }
  return {
    write: (event) => next().write(event),
    writeBatch: (events) => next().writeBatch(events),
    deliver: (message, tampered) => next().deliver(message, tampered),
    deliverAll: (messages, pace, tampered) => next().deliverAll(messages, pace, tampered),
  }
}
