import { useMutation } from '@tanstack/react-query'
import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { codeOf } from '../api/describe-problem.ts'
import { operator } from '../api/operator-client.ts'
import { currentSession, type Session, setSession, useSession } from '../api/session.ts'
import { CloseRow, Modal } from '../dialogs/modal.tsx'
import { SignInPage } from '../sign-in/sign-in-page.tsx'
import { texts } from '../texts/texts.ts'
import { THEMES, useTheme } from './browser.ts'
import { areKeysActive, setKeysActive, useKeys } from './use-keys.ts'

/** The pages of the navigation. The letter, after a `g`, opens the page. */
const PAGES = [
  { to: '/', text: texts.pages.overview, letter: 'o' },
  { to: '/events', text: texts.pages.events, letter: 'e' },
  { to: '/refused', text: texts.pages.refused, letter: 'f' },
  { to: '/replays', text: texts.pages.replays, letter: 's' },
  { to: '/receipts', text: texts.pages.receipts, letter: 'c' },
  { to: '/providers', text: texts.pages.providers, letter: 'p' },
  { to: '/handlers', text: texts.pages.handlers, letter: 'd' },
  { to: '/audit', text: texts.pages.audit, letter: 'a' },
] as const

/** What surrounds each page. Without a session, it shows the sign-in and keeps the address. */
export function Shell() {
  const session = useSession()
  return (
    <>
      <a href="#content" className="sr-only focus:not-sr-only">
        {texts.frame.skip}
      </a>
      <header className="border-b border-line">
        <div className="mx-auto flex w-full max-w-[110rem] flex-wrap items-center gap-x-4 gap-y-1 px-3 py-1">
          <strong>{texts.product}</strong>
          {session !== null && <Pages />}
          <span className="ml-auto flex flex-wrap items-center gap-2">
            <ThemeChoice />
            {session !== null && <SessionButtons />}
          </span>
        </div>
      </header>
      {session === null ? <SignInPage /> : <Outlet />}
    </>
  )
}

function Pages() {
  const navigate = useNavigate()
  useKeys(Object.fromEntries(PAGES.map(({ to, letter }) => [`g ${letter}`, () => void navigate({ to })])))
  return (
    <nav aria-label={texts.frame.navigation} className="flex flex-wrap">
      {PAGES.map(({ to, text }) => (
        <Link key={to} to={to} className="chip" activeOptions={{ exact: to === '/', includeSearch: false }}>
          {text}
        </Link>
      ))}
    </nav>
  )
}

function ThemeChoice() {
  const [theme, setTheme] = useTheme()
  return (
    <select
      aria-label={texts.frame.theme}
      className="input"
      value={theme}
      onChange={({ target }) => setTheme(THEMES.find((one) => one === target.value) ?? 'system')}
    >
      {THEMES.map((one) => (
        <option key={one} value={one}>
          {texts.frame.themes[one]}
        </option>
      ))}
    </select>
  )
}

const END_MS = 5_000

function SessionButtons() {
  const [areKeysShown, setKeysShown] = useState(false)
  const session = useSession()
  // The page forgets the session in any case. Only the gateway can end it and remove its cookie.
  const ending = useMutation({
    networkMode: 'always',
    mutationFn: (_: Session | null) => operator.signIn.end.mutate({}, { signal: AbortSignal.timeout(END_MS) }),
    onSettled(_, error, ended) {
      if (currentSession() !== ended) return
      const isConfirmed = error === null || codeOf(error) === 'unauthenticated'
      setSession(null, isConfirmed ? 'confirmed' : 'unconfirmed')
    },
  })
  useKeys({ '?': () => setKeysShown(true) })
  return (
    <>
      <button type="button" className="button" onClick={() => setKeysShown(true)}>
        {texts.frame.keys} <kbd>?</kbd>
      </button>
      <Link to="/sessions" className="chip">
        {texts.pages.sessions}
      </Link>
      <button type="button" className="button" disabled={ending.isPending} onClick={() => ending.mutate(session)}>
        {texts.frame.signOut} <span className="max-sm:hidden">{session?.operator}</span>
      </button>
      {areKeysShown && <KeysDialog onClose={() => setKeysShown(false)} />}
    </>
  )
}

/** Shows the keys, and can switch them off for people whose software needs the same keys. */
function KeysDialog({ onClose }: { readonly onClose: () => void }) {
  const [isActive, setIsActive] = useState(areKeysActive)
  return (
    <Modal title={texts.keys.title} onClose={onClose}>
      <dl className="grid grid-cols-[5rem_1fr] gap-y-1">
        {Object.entries(texts.keys.list).map(([key, meaning]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="font-mono">{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <label className="mt-3 flex items-center gap-2">
        <input
          type="checkbox"
          checked={isActive}
          onChange={({ target }) => {
            setKeysActive(target.checked)
            setIsActive(target.checked)
          }}
        />
        {texts.keys.active}
      </label>
      <CloseRow onClose={onClose} />
    </Modal>
  )
}
