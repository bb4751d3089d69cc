import { hash, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { META } from '../../presets/services.ts'
import { presetScheme } from '../preset-scheme.ts'

/**
 * Meta, for WhatsApp, Instagram, Messenger and pages: no time is signed, and there is no event id, so it is made from the body. One
 * delivery is one event, even if it has several entries; the first one names it. When the URL is saved, Meta sends a GET with the
 * verify token that was typed there, and expects its challenge.
 */
export const meta = presetScheme(
  META,
  {
    prepareCheck:
      ({ verifyToken }) =>
      (query) =>
        answerChallenge(query, verifyToken),
  },
  { verifyToken: z.string().min(1).max(255).optional() },
)

/** Without the token of the settings nothing is answered. */
function answerChallenge(query: string, verifyToken: string | undefined): number | null {
  const fields = new URLSearchParams(query)
  const [mode, token, challenge] = ['hub.mode', 'hub.verify_token', 'hub.challenge'].map((name) => fields.getAll(name))
  if (verifyToken === undefined || mode?.join() !== 'subscribe' || token?.length !== 1 || challenge?.length !== 1)
    return null
  // A number, so that nobody can make this host answer a text of theirs.
  const [digits = ''] = challenge
  return isSame(token[0] ?? '', verifyToken) && /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : null
}

function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'))
}
