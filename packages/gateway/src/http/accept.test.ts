import { describe, expect, it } from 'vitest'
import { qualityOf } from './accept.ts'

describe('qualityOf', () => {
  it.each([
    [undefined, 1],
    ['', 1],
    ['garbage', 1],
    ['*/*', 1],
    ['application/json', 1],
    ['APPLICATION/JSON;Q=0.5', 0.5],
    ['application/json;charset=utf-8;q=0.3', 0.3],
    ['application/*;q=0.2, */*;q=0.1', 0.2],
    ['*/*, application/json;q=0', 0],
    ['application/*;q=0, */*', 0],
    ['text/html', 0],
    ['text/html, */*;q=0.1', 0.1],
    ['application/json;q=nonsense', 0],
    ['application/problem+json', 0],
  ])('reads %j', (accept, quality) => {
    expect(qualityOf(accept, 'application/json')).toBe(quality)
  })
})
