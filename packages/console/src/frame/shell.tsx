import { useMutation } from '@tanstack/react-query'
import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { codeOf } from '../api/describe-problem.ts'
import { operator } from '../api/operator-client.ts'
import { currentSession, type Session, setSession, useSession } from '../api/session.ts'
import { Modal } from '../dialogs/modal.tsx'
import { Choice } from '../parts/choice.tsx'
import { SignInPage } from '../sign-in/sign-in-page.tsx'
import { chooseTheme, readTheme, THEMES } from './browser.ts'
import { keys, useKeys } from './use-keys.ts'

/** The pages of the navigation. The letter, after a `g`, opens the page. */
const PAGES = [
  { to: '/', text: 'Overview', letter: 'o' },
  { to: '/events', text: 'Events', letter: 'e' },
  { to: '/refused', text: 'Refused', letter: 'f' },
  { to: '/replays', text: 'Replays', letter: 's' },
  { to: '/receipts', text: 'Receipts', letter: 'c' },
  { to: '/providers', text: 'Providers', letter: 'p' },
  { to: '/handlers', text: 'Handlers', letter: 'd' },
  { to: '/audit', text: 'Audit log', letter: 'a' },
] as const

/** What surrounds each page. Without a session, it shows the sign-in and keeps the address. */
export function Shell() {
  const session = useSession()
  return (
    <>
      <a href="#content" className="sr-only focus:not-sr-only">
        Skip to the content
      </a>
      <header className="border-b border-line">
        <div className="mx-auto flex w-full max-w-[110rem] flex-wrap items-center gap-x-4 gap-y-1 px-3 py-1 max-sm:gap-x-2">
          <strong>Oncehook</strong>
          {session !== null && <Pages />}
          <span className="ml-auto flex flex-wrap items-center gap-2 max-sm:gap-1">
            <ThemeChoice />
            {session !== null && <SessionButtons session={session} />}
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
    <nav
      aria-label="Pages"
      className="flex flex-wrap max-sm:order-last max-sm:w-full max-sm:flex-nowrap max-sm:overflow-x-auto max-sm:p-1"
    >
      {PAGES.map(({ to, text }) => (
        <Link
          key={to}
          to={to}
          className="chip whitespace-nowrap"
          activeOptions={{ exact: to === '/', includeSearch: false }}
        >
          {text}
        </Link>
      ))}
    </nav>
  )
}

function ThemeChoice() {
  const [theme, setTheme] = useState(readTheme)
  const choose = (chosen = theme): void => setTheme(chooseTheme(chosen))
  return <Choice label="Theme" chosen={theme} options={THEMES.map((one) => [one, one])} onChoose={choose} />
}

const END_MS = 5_000

function SessionButtons({ session }: { readonly session: Session }) {
  const [areKeysShown, setKeysShown] = useState(false)
  // The page forgets the session in any case. Only the gateway can end it and remove its cookie.
  const ending = useMutation({
    networkMode: 'always',
    mutationFn: (_: Session) => operator.signIn.end.mutate({}, { signal: AbortSignal.timeout(END_MS) }),
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
        <span className="max-sm:sr-only">Keys</span> <kbd>?</kbd>
      </button>
      <Link to="/sessions" className="chip">
        Sessions
      </Link>
      <button type="button" className="button" disabled={ending.isPending} onClick={() => ending.mutate(session)}>
        Sign out <span className="max-sm:hidden">{session.operator}</span>
      </button>
      {areKeysShown && <KeysDialog onClose={() => setKeysShown(false)} />}
    </>
  )
}

const KEYS = [
  ['?', 'show the keys'],
  ['/', 'go to the search box'],
  ['j', 'next row'],
  ['k', 'previous row'],
  ['Enter', 'open the row'],
  ['Esc', 'close a dialog'],
  ['r', 'replay what is shown'],
  ['c', 'close the dead event that is shown'],
  ...PAGES.map(({ letter, text }) => [`g ${letter}`, `go to ${text}`]),
]

/** Shows the keys, and can switch them off for people whose software needs the same keys. */
function KeysDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Modal title="Keys" onClose={onClose}>
      <dl className="grid grid-cols-[5rem_1fr] gap-y-1">
        {KEYS.map(([key, meaning]) => (
          <div key={key} className="contents">
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <label className="mt-3 flex items-center gap-2">
        <input
          type="checkbox"
          defaultChecked={keys.areActive}
          onChange={({ target }) => {
            keys.areActive = target.checked
          }}
        />
        Use these keys
      </label>
    </Modal>
  )
}
