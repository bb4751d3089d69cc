import { describe, expect, it } from 'vitest'
import { drawLatencyPicture } from './latency-picture.ts'

const at = (perSecond: number, p99Ms: number, failed = 0) => ({ perSecond, p50Ms: 1, p99Ms, failed })
const curves = [
  { title: 'first & <second>', color: '#111111', points: [at(500, 10), at(1_000, 100), at(2_000, 1_000, 7)] },
  { title: 'other', color: '#222222', points: [at(4_000, 10)] },
]
const picture = drawLatencyPicture(curves)

function circles() {
  const found = picture.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)" r="4" fill="(#\w+)"/g)
  return Array.from(found, ([, x, y, fill]) => ({ x: Number(x), y: Number(y), fill }))
}

describe('drawLatencyPicture', () => {
  it('puts rates on a linear axis and milliseconds on a logarithmic one, upwards', () => {
    const [first, second, third, other] = circles()
    expect(second!.x - first!.x).toBeCloseTo((third!.x - second!.x) / 2, 0)
    expect(first!.y - second!.y).toBeCloseTo(second!.y - third!.y, 0)
    expect(second!.y).toBeLessThan(first!.y)
    expect(other!.y).toBe(first!.y)
  })

  it('stays inside its frame, also for less than a millisecond and for minutes', () => {
    const wide = drawLatencyPicture([{ title: 'wide', color: '#111111', points: [at(1, 0.01), at(20_000, 99_000)] }])
    const places = Array.from(wide.matchAll(/c[xy]="([\d.]+)"/g), ([, value]) => Number(value))
    expect(Math.min(...places)).toBeGreaterThanOrEqual(40)
    expect(Math.max(...places)).toBeLessThanOrEqual(740)
  })

  it('shows hollow where deliveries failed and says how many', () => {
    expect(circles().map(({ fill }) => fill)).toEqual(['#111111', '#111111', '#ffffff', '#222222'])
    expect(picture).toContain('<title>2,000/s: p99 1000.0 ms, 7 failed</title>')
  })

  it('is well-formed for any title, and the same for the same figures', () => {
    expect(picture).toContain('first &amp; &lt;second&gt;')
    const opened = picture.match(/<(?!\/)[a-z]+/g)?.length
    const closed = picture.match(/\/>|<\/[a-z]+>/g)?.length
    expect(opened).toBe(closed)
    expect(drawLatencyPicture(curves)).toBe(picture)
  })

  it('refuses to draw nothing', () => {
    expect(() => drawLatencyPicture([])).toThrow(RangeError)
  })
})
