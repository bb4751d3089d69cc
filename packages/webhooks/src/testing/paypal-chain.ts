import certificates from './paypal-chain.json' with { type: 'json' }

/** Certificates for tests, in PEM; the leaf signs the vectors of PayPal (contracts/vectors/paypal.json), and nothing else trusts them. */
export const PAYPAL_CHAIN = certificates.chain

const { root: ca, serverAuth, codeSigning } = certificates.purposes

/** Leaves of PayPal's name that count for one purpose each, and the root that vouches for them. */
export const PAYPAL_PURPOSES = {
  serverAuth: { ca, certificate: serverAuth },
  codeSigning: { ca, certificate: codeSigning },
}
