// Runs in the page before the page's own script. Its findings are read through `window.probe`.
const found = { firstPaintMs: null, firstRowsMs: null, longTasks: [], messages: 0, skipped: 0, longestGapMs: 0 }
let phase = 'opening'
let actedAt = 0

const watch = (type, take) =>
  new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true })
watch('paint', ({ name, startTime }) => {
  if (name === 'first-contentful-paint') found.firstPaintMs = startTime
})
watch('longtask', ({ duration }) => found.longTasks.push({ phase, ms: duration }))

// The time of the input event itself, so that the page's work before it answers counts too.
for (const type of ['click', 'change', 'submit']) {
  addEventListener(type, ({ timeStamp }) => (actedAt ||= timeStamp), { capture: true })
}

const listOf = () => document.querySelector('tbody tr[data-row]')?.closest('table') ?? null

const isLoading = () => [...document.querySelectorAll('[role=status]')].some((one) => one.textContent === 'Loading…')

/** Waits for a list other than the current one, and for the frame that shows it. A search may end without rows. */
const nextList = (mayBeEmpty) =>
  new Promise((resolve) => {
    const before = listOf()
    const { search } = location
    const check = () => {
      const list = listOf()
      const isEmpty = mayBeEmpty && location.search !== search && !isLoading()
      if (list === null ? !isEmpty : list === before) return
      observer.disconnect()
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
    }
    const observer = new MutationObserver(check)
    observer.observe(document, { childList: true, subtree: true })
    check()
  })

const firstRows = nextList(false).then((at) => {
  found.firstRowsMs = at
})

let next = null
window.probe = {
  opened: () => firstRows.then(() => found),
  enter(name) {
    phase = name
  },
  /** Call it before a click, change or submit that leads to another list. */
  arm() {
    actedAt = 0
    next = nextList(true)
  },
  /** Milliseconds from the input to the frame with the rows of that list. */
  measured: () => next.then((at) => at - actedAt),
  found: () => found,
}

// Reads a copy of the stream of changes, so that the page does not notice.
const ask = window.fetch.bind(window)
window.fetch = async (input, init) => {
  const answer = await ask(input, init)
  if (String(input?.url ?? input).includes('/operator/events.tail')) void readCopy(answer.clone().body)
  return answer
}

async function readCopy(body) {
  let lastAt = null
  try {
    for await (const piece of body.pipeThrough(new TextDecoderStream())) {
      for (const [, skipped] of piece.matchAll(/"skipped":(\d+|null)/g)) {
        const at = performance.now()
        if (lastAt !== null) found.longestGapMs = Math.max(found.longestGapMs, at - lastAt)
        lastAt = at
        found.messages += 1
        found.skipped += Number(skipped)
      }
    }
  } catch {
    // The page has closed its stream.
  }
}
