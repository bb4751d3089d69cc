import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { isHost, readTarget } from './request-target.ts'

const read = (url: string, method = 'GET') => readTarget({ url, method } as IncomingMessage, 100)

describe('readTarget', () => {
  it.each([
    ['/a/b?c=d', '/a/b?c=d'],
    ['/%61/%2D%7e?%61', '/a/-~?%61'],
    ['/%2F/%2f/%25', '/%2F/%2f/%25'],
    ['http://a', '/'],
    ['HTTPS://a:443/b?c', '/b?c'],
    ['http://[::1]:80?c', '/?c'],
    ['//a/b', '//a/b'],
    ['/%C3%A9?%e0%a4', '/%C3%A9?%e0%a4'],
    [`/${'x'.repeat(99)}`, `/${'x'.repeat(99)}`],
  ])('reads %s', (url, target) => {
    expect(read(url)).toBe(target)
  })

  it('reads * of OPTIONS, by whatever name', () => {
    expect([read('*', 'OPTIONS'), read('http://a', 'OPTIONS'), read('http://a/', 'OPTIONS')]).toEqual(['*', '*', '/'])
  })

  it.each([
    ...['*', '', 'a', '?', '#', '/#', '/ ', '/\u00e9', '/%', '/%1', '/%zz', '/?%', '/%e0%a4', '/%FF?a', '/%ED%A0%80'],
    ...['/%C0%AF', 'ftp://a/', 'http://', 'http:///a'],
  ])('refuses %j', (url) => {
    expect(read(url)).toMatchObject({ status: 400 })
  })
})

describe('isHost', () => {
  it.each(['', 'a', 'a.b-c', 'a:80', 'a:', '[::1]', '[::ffff:1.2.3.4]:8080', '1.2.3.4', 'x_y', "a!$&'()*+;=", '%20'])(
    '%j is one',
    (host) => {
      expect(isHost(host)).toBe(true)
    },
  )

  it.each([
    ...[' ', 'a b', 'a,b', 'a/', 'a\\b', 'a@b', 'a?', 'a#', 'a:b', 'a:123456', '[', '[::1', '::1', '[g]', '%2', 'é'],
  ])('%j is none', (host) => {
    expect(isHost(host)).toBe(false)
  })
})
