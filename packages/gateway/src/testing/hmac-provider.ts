/** The settings of a provider with the scheme `hmac`, whose payments may take effect. */
export function hmacProvider(secret: { readonly id: string; readonly value: string }) {
  return { scheme: 'hmac', header: 'x-signature', effects: ['payment.succeeded', 'payment.failed'], secrets: [secret] }
}
