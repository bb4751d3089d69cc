import { describe, expect, it } from 'vitest'
import { all, type Delivered, deliver, expectProved, overBytes, withBody } from '../../testing/explained-delivery.ts'

describe('explain, of a body', () => {
  it.each(overBytes)('finds a body of %s that was parsed and written again', async (scheme) => {
    const one = await deliver(scheme)
    for (const write of [
      (text: string) => JSON.stringify(JSON.parse(text), null, 2),
      (text: string) => JSON.stringify(JSON.parse(text), null, '\t'),
      (text: string) => text.replaceAll('/', '\\/'),
      (text: string) => text.replaceAll('é', '\\u00e9'),
    ]) {
      const changed = withBody(one, write)
      if (changed.delivery.rawBody.equals(one.delivery.rawBody)) continue
      expect(await expectProved(changed, 'body_changed')).toContain('parsed and serialized again')
    }
  })

  it.each(['github', 'stripe', 'slack', 'discord'])('finds how a body of %s was signed', async (scheme) => {
    const pretty = `${JSON.stringify({ b: 1, a: ['é', '/<x>'] }, null, 2)}\n`
    const spaced = '{"a": 1, "b": ["x", {"c": null}]}'
    for (const [signed, message] of [
      [pretty, 'with an indentation of two spaces, with a final newline'],
      [spaced, 'with a space after each comma and colon'],
      ['{"a":1,"b":"\\u003cx\\u003e"}', '<, > and & escaped'],
      ['{"a":1,"b":"\\u00e9"}', 'non-ASCII characters escaped'],
    ] as const) {
      const changed = withBody(await deliver(scheme, signed), (text) => JSON.stringify(JSON.parse(text)))
      expect(await expectProved(changed, 'body_changed')).toContain(message)
    }
  })

  it.each(overBytes)('finds what was put behind, before or around a body of %s', async (scheme) => {
    const one = await deliver(scheme)
    for (const [change, message] of [
      [(text: string) => `${text}\n`, 'a newline was added at the end'],
      [(text: string) => ` ${text} `, 'whitespace was added around it'],
      [(text: string) => `\ufeff${text}`, 'a byte order mark'],
      [(text: string) => Buffer.from(text).toString('base64'), 'base64'],
      [(text: string) => JSON.stringify(text), 'as a JSON string'],
    ] as const) {
      expect(await expectProved(withBody(one, change), 'body_changed')).toContain(message)
    }
  })

  it('finds line ends that were rewritten', async () => {
    const lf = withBody(await deliver('github', '{\r\n"a":1\r\n}'), (text) => text.replaceAll('\r', ''))
    expect(await expectProved(lf, 'body_changed')).toContain('CR LF became LF')
    const crlf = withBody(await deliver('github', '{\n"a":1\n}'), (text) => text.replaceAll('\n', '\r\n'))
    expect(await expectProved(crlf, 'body_changed')).toContain('LF became CR LF')
    const cut = withBody(await deliver('github', '{"a":1}\n'), (text) => text.trim())
    expect(await expectProved(cut, 'body_changed')).toContain('the newline at the end was removed')
  })

  it.each(all.filter((scheme) => scheme !== 'mollie-classic'))(
    'finds blanks and quotes around a secret of %s',
    async (scheme) => {
      const one = await deliver(scheme)
      for (const value of [
        `${one.value} `,
        `\n${one.value}`,
        `"${one.value}"`,
        `'${one.value}'`,
        `SECRET=${one.value}`,
      ]) {
        await expectProved({ ...one, value }, 'secret_blank')
      }
    },
  )

  it.each([
    ['standard-webhooks', (value: string) => Buffer.from(value.slice(6), 'base64').toString('hex')],
    ['stripe', (value: string) => value.slice('whsec_'.length)],
    ['adyen', (value: string) => Buffer.from(value, 'hex').toString('base64')],
    ['adyen-platform', (value: string) => Buffer.from(value, 'hex').toString('base64')],
    ['github', (value: string) => value.toUpperCase()],
    ['discord', (value: string) => Buffer.from(value, 'hex').toString('base64')],
    ['sendgrid', (value: string) => Buffer.from(value, 'base64').toString('hex')],
    [
      'paddle',
      (value: string) => encodeURIComponent(`${value}`).replace(/^./, (sign) => `%${sign.charCodeAt(0).toString(16)}`),
    ],
    ['square', (value: string) => Buffer.from(value).toString('base64')],
  ])('finds a secret of %s in the wrong encoding', async (scheme, encode) => {
    const one = await deliver(scheme)
    await expectProved({ ...one, value: encode(one.value) }, 'secret_encoding')
  })

  it('finds a key that the provider decodes differently from the settings', async () => {
    const one = await deliver('hmac')
    const settings = { ...one.settings, secretEncoding: 'hex' }
    expect(await expectProved({ ...one, settings } as Delivered, 'secret_encoding')).toContain('plain text')
  })
})
