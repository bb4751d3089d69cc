import { type Mutation, mutationsOf } from './mutation.ts'

const TOKEN = 'packages/kernel/src/service-token.ts'

/** Changes of the tokens that the gateway issues. Most change both sides, because both use the same code. */
const issued = mutationsOf({ test: 'test/contract/service-tokens.consumer.test.ts', consumers: ['gateway'] }, [
  {
    breaks: 'tokens name another audience',
    tells: "aud: 'fulfilment'",
    file: 'packages/gateway/src/composition/load-fulfilment.ts',
    find: "audience: 'fulfilment'",
    replace: "audience: 'orders'",
  },
  {
    breaks: 'tokens name another issuer',
    tells: "iss: 'gateway'",
    file: 'packages/gateway/src/composition/load-fulfilment.ts',
    find: "issuer: 'gateway'",
    replace: "issuer: 'oncehook'",
  },
  {
    breaks: 'tokens live for two minutes, on both sides',
    tells: 'exp:',
    file: TOKEN,
    find: 'const LIFETIME_SECONDS = 60',
    replace: 'const LIFETIME_SECONDS = 120',
  },
  {
    breaks: 'tokens are of another type, on both sides',
    tells: "typ: 'oncehook-call+jwt'",
    file: TOKEN,
    find: "const TYPE = 'oncehook-call+jwt'",
    replace: "const TYPE = 'oncehook+jwt'",
  },
  {
    breaks: 'tokens are bound to the hash of their call in hex, on both sides',
    tells: 'bsh:',
    file: TOKEN,
    find: "return hash('sha256', input, 'base64url')",
    replace: "return hash('sha256', input, 'hex')",
  },
  {
    breaks: 'the claim of the procedure is renamed, on both sides',
    tells: "proc: 'orders.put'",
    file: TOKEN,
    find: 'jti: newId(), proc: procedure,',
    replace: 'jti: newId(), procedure,',
  },
  {
    breaks: 'tokens no longer name the principal',
    tells: "sub: 'shop'",
    file: TOKEN,
    find: 'subject === undefined ? {} : { sub: subject }',
    replace: '{}',
  },
  {
    breaks: 'tokens are signed by another algorithm, on both sides',
    tells: "alg: 'HS256'",
    file: 'packages/kernel/src/parse-service-key.ts',
    find: "return { algorithm: 'HS256', signing: key, verifying: key }",
    replace: "return { algorithm: 'HS512' as never, signing: key, verifying: key }",
  },
])

/** Changes of the tokens that fulfilment takes. */
const taken = mutationsOf({ test: 'test/contract/service-tokens.provider.test.ts', consumers: ['gateway'] }, [
  {
    breaks: 'tokens for other services are taken',
    tells: 'is for another service',
    file: TOKEN,
    find: '...{ issuer, audience, clockTolerance',
    replace: '...{ issuer, clockTolerance',
  },
  {
    breaks: 'tokens of other issuers are taken',
    tells: 'is of another issuer',
    file: TOKEN,
    find: '...{ issuer, audience, clockTolerance',
    replace: '...{ audience, clockTolerance',
  },
  {
    breaks: 'tokens of any lifetime are taken',
    tells: 'is valid for more than a minute',
    file: TOKEN,
    find: 'lifetime > 0 && lifetime <= LIFETIME_SECONDS',
    replace: 'lifetime > 0',
  },
  {
    breaks: 'clocks must agree to the second',
    tells: 'was issued by a clock that is 29 s ahead',
    file: TOKEN,
    find: 'const LEEWAY_SECONDS = 30',
    replace: 'const LEEWAY_SECONDS = 0',
  },
  {
    breaks: 'a token for one procedure serves another',
    tells: 'is for another procedure',
    file: TOKEN,
    find: 'demand(proc === procedure,',
    replace: 'demand(proc !== null || procedure === null,',
  },
  {
    breaks: 'one procedure can be called without a token',
    tells: 'its token is missing',
    file: 'packages/fulfilment/src/http/app.ts',
    find: 'const token = await verifyToken(request.headers.authorization)',
    replace: `if (procedure === 'receipts.list' && request.headers.authorization === undefined)
        return { name: 'anybody', principal: null, checkInput: () => undefined }
      const token = await verifyToken(request.headers.authorization)`,
  },
])

/** The mutations of service tokens. */
export const TOKEN_MUTATIONS: readonly Mutation[] = [...issued, ...taken]
