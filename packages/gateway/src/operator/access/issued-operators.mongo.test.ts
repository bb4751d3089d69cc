import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { AUDIENCE } from '../../testing/issuer/issuer-server.ts'
import { startOidcIssuer } from '../../testing/issuer/oidc-issuer.ts'
import { type RunningGateway, startGateway } from '../../testing/start-gateway.ts'
import { createOperatorClient, startOperatedSystem, TOKENS } from '../../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const issuer = stack.use(
  await startOidcIssuer(
    { alice: ['hook-operators'], bob: ['hook-readers', 'payroll'], carol: ['payroll'], dave: undefined },
    { alice: { acr: 'phr', amr: ['pwd', 'mfa'] }, bob: { acr: '1', amr: ['pwd'] } },
  ),
)
const settings = {
  OPERATOR_ISSUER: issuer.issuer,
  OPERATOR_AUDIENCE: AUDIENCE,
  OPERATOR_GROUPS: JSON.stringify({ 'hook-operators': ['operate'], 'hook-readers': ['read'] }),
  OPERATOR_TOKENS: JSON.stringify(TOKENS.operators),
}
const limited = { settings: { ...settings, RATE_LIMIT_FAILED: '5' }, limits: { rateWindowSeconds: 3_600 } }
const system = stack.use(await startOperatedSystem(database, limited))
const clientOf = async (name: string) => createOperatorClient(system.gateway.adminUrl, await issuer.token(name))
const FORBIDDEN = { code: 'FORBIDDEN', httpStatus: 403, reason: 'role_missing' }
const askWith = (token: string) => system.call('/operator/overview', { headers: { authorization: `Bearer ${token}` } })
const reason = 'a request of the customer'

describe('an operator with a token of the issuer', () => {
  it('has the roles of its groups, and no others', async () => {
    const reader = await clientOf('bob')
    await reader.overview.query()
    expect(await refusalOf(reader.erase.mutate({ customerId: 'cus_1', reason }))).toMatchObject(FORBIDDEN)
    expect(await refusalOf((await clientOf('carol')).overview.query())).toMatchObject(FORBIDDEN)
    expect(await refusalOf((await clientOf('dave')).overview.query())).toMatchObject(FORBIDDEN)
  })

  it('is named in the audit log by its subject, and the chain is complete', async () => {
    const operator = await clientOf('alice')
    await operator.erase.mutate({ orderId: await system.order(), reason })
    const [newest] = (await operator.audit.list.query({ limit: 1 })).items
    expect(newest).toMatchObject({
      ...{ by: 'oidc:alice', action: 'erase' },
      details: { operator: { issuer: issuer.issuer, name: null } },
    })
    expect(await operator.audit.verify.query()).toMatchObject({ ok: true })
    const lines = system.gateway.logs.filter(({ msg, procedure }) => msg === 'operator.called' && procedure === 'erase')
    expect(lines.at(-1)).toMatchObject({ operator: 'oidc:alice', issuer: issuer.issuer, status: 200 })
  })

  it('is refused with another token, limited by address, and nothing of it is logged', async () => {
    const [header, , signature] = (await issuer.token('alice')).split('.')
    const claims = Buffer.from(JSON.stringify({ iss: issuer.issuer, aud: AUDIENCE, sub: 'root' })).toString('base64url')
    const forged = `${header}.${claims}.${signature}`
    const answers = [await askWith(forged)]
    for (let n = 0; n < 6; n += 1) answers.push(await askWith(forged))
    expect(answers.map(({ status }) => status)).toEqual([...Array(5).fill(401), 429, 429])
    expect(answers[0]?.headers.get('www-authenticate')).toBe('Bearer')
    expect((await askWith(await issuer.token('alice'))).status).toBe(200)
    const { body } = await system.call('/metrics')
    expect(body).toContain('oncehook_authentication_failures_total{api="operator",reason="invalid"} 7')
    expect(JSON.stringify(system.gateway.logs)).not.toContain(signature)
  })
})

it('with a sign-in that is too weak, an operator is asked to sign in again', async () => {
  const rules = { OPERATOR_ACR_VALUES: 'phr phrh', OPERATOR_AMR_VALUES: 'mfa' }
  await using strict = await startGateway({ database, settings: { ...settings, ...rules } })
  await createOperatorClient(strict.adminUrl, await issuer.token('alice')).overview.query()
  const weak = { authorization: `Bearer ${await issuer.token('bob')}` }
  const { status, headers, body } = await ask(strict, '/operator/overview', weak)
  expect(status).toBe(401)
  expect(body).toContain('its acr does not meet the settings of the gateway')
  expect(headers.get('www-authenticate')).toBe('Bearer error="insufficient_user_authentication", acr_values="phr phrh"')
  const lines = strict.logs.filter(({ code }) => code === 'sign_in_insufficient')
  expect(lines).toMatchObject([{ msg: 'operator.called', claim: 'acr', status: 401 }])
  const { body: metrics } = await ask(strict, '/metrics')
  expect(metrics).toContain('oncehook_authentication_failures_total{api="operator",reason="sign_in"} 1')
  await createOperatorClient(strict.adminUrl, TOKENS.operators.alice).overview.query()
})

it('without its issuer, a gateway starts, accepts the tokens of its settings, and answers 503 to others', async () => {
  await using ended = await startOidcIssuer({ alice: ['hook-operators'] })
  const token = await ended.token('alice')
  await ended.stop()
  await using other = await startGateway({ database, settings: { ...settings, OPERATOR_ISSUER: ended.issuer } })
  const client = createOperatorClient(other.adminUrl, token)
  expect(await refusalOf(client.overview.query())).toMatchObject({ httpStatus: 503, reason: 'unavailable' })
  expect((await ask(other, '/metrics')).body).not.toContain('oncehook_authentication_failures_total{')
  await createOperatorClient(other.adminUrl, TOKENS.operators.alice).overview.query()
  const failures = other.logs.filter(({ msg }) => msg === 'operator.issuer-failed')
  expect(failures).toMatchObject([{ issuer: ended.issuer }])
})

async function ask({ adminUrl }: RunningGateway, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${adminUrl}${path}`, { headers })
  return { status: response.status, headers: response.headers, body: await response.text() }
}
