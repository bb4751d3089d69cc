import { createHash, createHmac } from 'node:crypto'
import { KEY } from '../keys.ts'
import { API, type HeaderLine, NOW, type Vector } from '../vector.ts'

/** A provider that sends its secret as it is. */
interface StaticToken {
  readonly header: string
  readonly token: string
  readonly body: Buffer
  /** A suffix of each vector's reason. */
  readonly mark: string
  /** Headers of other providers, which do not count. */
  readonly foreign: readonly string[]
}

const FLUTTERWAVE: StaticToken = {
  header: 'verif-hash',
  token: 'a_secret_hash_0001',
  body: Buffer.from(
    '{"event":"charge.completed","data":{"id":285959875,"tx_ref":"ord_1","amount":19.99,"currency":"EUR","status":"successful"}}',
  ),
  mark: '',
  foreign: ['flutterwave-signature', 'X-Gitlab-Token'],
}

const GITLAB: StaticToken = {
  header: 'X-Gitlab-Token',
  token: 'a_clear_token_0001',
  body: Buffer.from('{"object_kind":"push","project":{"id":15},"ref":"refs/heads/main"}'),
  mark: ' (clear token)',
  foreign: ['verif-hash', 'X-Hub-Signature-256'],
}

/** Flutterwave: the secret hash itself. */
export function flutterwaveVectors(): Vector[] {
  return staticTokenVectors(FLUTTERWAVE)
}

/** GitLab's older token: nobody can check a signature that is sent with it. */
export function gitlabTokenVectors(): Vector[] {
  const { token, body } = GITLAB
  const signed = (key: Buffer): HeaderLine[] => [
    ['webhook-id', 'msg_0001'],
    ['webhook-timestamp', String(NOW)],
    ['webhook-signature', `v1,${createHmac('sha256', key).update(`msg_0001.${NOW}.`).update(body).digest('base64')}`],
  ]
  return [
    ...staticTokenVectors(GITLAB),
    written(GITLAB, 'a signature beside it that nobody can check', {
      verdict: 'accepted',
      headers: [[GITLAB.header, token], ...signed(KEY)],
    }),
    written(GITLAB, 'only a signature keyed with the token', { headers: signed(Buffer.from(token)) }),
  ]
}

function written({ token, body, mark }: StaticToken, why: string, more: Partial<Vector>): Vector {
  const usual = { verdict: 'refused', settings: API, secret: token, now: NOW, headers: [] } as const
  return { why: `${why}${mark}`, ...usual, ...more, body: more.body ?? body.toString('base64') }
}

function staticTokenVectors(provider: StaticToken): Vector[] {
  const { header, token, foreign } = provider
  const line: HeaderLine = [header, token]
  const accepted = (why: string, more: Partial<Vector> = {}): Vector =>
    written(provider, why, { verdict: 'accepted', headers: [line], ...more })
  const refused = (why: string, ...headers: HeaderLine[]): Vector => written(provider, why, { headers })
  const ends = (seconds: number): string => new Date((NOW + seconds) * 1_000).toISOString().replace('.000Z', 'Z')
  return [
    accepted('the token, to be confirmed by the API'),
    accepted('the header is named in lower case', { headers: [[header.toLowerCase(), token]] }),
    accepted('the header is named in upper case', { headers: [[header.toUpperCase(), token]] }),
    accepted('any body, for nothing is signed', { body: Buffer.from('not json').toString('base64') }),
    accepted('the secret is in use until after now', { notAfter: ends(1) }),
    written(provider, 'the secret ended at this very second', { headers: [line], notAfter: ends(0) }),
    written(provider, 'the secret has ended', { headers: [line], notAfter: ends(-86_400) }),
    refused('no headers'),
    refused('the header is empty', [header, '']),
    refused('the header stands twice', line, line),
    refused('the header stands twice, in another case', line, [header.toUpperCase(), token]),
    refused('the header stands twice, once wrong', line, [header, 'x']),
    refused('two joined by a comma', [header, `${token}, ${token}`]),
    ...valuesOf(provider).map(([why, value]) => refused(`the value: ${why}`, [header, value])),
    refused('in the header Authorization only', ['Authorization', `Bearer ${token}`]),
    ...foreign.map((name) => refused(`in the header ${name} only`, [name, token])),
    written(provider, 'in the query only', { query: `${header}=${token}` }),
  ]
}

function valuesOf({ token, body }: StaticToken): [why: string, value: string][] {
  const hash = (name: string): Buffer => createHash(name).update(token).digest()
  const mac = createHmac('sha256', token).update(body).digest()
  return [
    ['another secret', `${token.slice(0, -1)}2`],
    ['one character short', token.slice(0, -1)],
    ['without its first character', token.slice(1)],
    ['one character long', `${token}1`],
    ['in upper case', token.toUpperCase()],
    ['twice', token.repeat(2)],
    ['reversed', [...token].reverse().join('')],
    ['one byte is not ASCII', `\u00e9${token.slice(1)}`],
    ['a byte that is not ASCII behind it', `${token}\u00e9`],
    ['a blank within', `${token.slice(0, 5)} ${token.slice(5)}`],
    ['a tab behind it', `${token}\t`],
    ['in quotes', `"${token}"`],
    ['a Bearer before it', `Bearer ${token}`],
    ['as a member', `hash=${token}`],
    ['in base64', Buffer.from(token).toString('base64')],
    ['in hexadecimal', Buffer.from(token).toString('hex')],
    ['its SHA-256', hash('sha256').toString('hex')],
    ['its SHA-256 in base64', hash('sha256').toString('base64')],
    ['its MD5', hash('md5').toString('hex')],
    ['escaped', token.replaceAll('_', '%5F')],
    ['an HMAC of the body', mac.toString('hex')],
    ['an HMAC of the body in base64', mac.toString('base64')],
    ['a null', 'null'],
    ['true', 'true'],
    ['an object', '[object Object]'],
  ]
}
