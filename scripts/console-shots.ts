// Takes the pictures of the operator's page that the documents show: npm run console:shots.
import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { startHandlerServer } from '@oncehook/gateway/testing/handlers/handler-server'
import { setup as startBrowser } from '../test/support/console/browser-setup.ts'
import { startConsole } from '../test/support/console/open-console.ts'
import { setup as startMongod } from '../test/support/mongod/mongod-setup.ts'
import { makeShopHandlers, seedHandlers } from './console/seed-handlers.ts'
import { seedMinutes } from './console/seed-minutes.ts'
import { makeShopProviders, seedShop } from './console/seed-shop.ts'
import { takeShots, type WantedShots } from './console/take-shots.ts'

// Without an argument, takes the pictures for the documents. With a folder, takes all pictures.
const [given] = process.argv.slice(2)
const folder = resolve(given ?? 'docs/images/console')

const ALL_LIGHT = [
  'events',
  'event',
  'refused',
  'replays',
  'receipts',
  'providers',
  'handlers',
  'rotation',
  'audit',
  'overview',
]
const isInDocuments: WantedShots = (name, theme, size) => {
  if (size === 'middle') return false
  if (size === 'narrow') return theme === 'light' ? name === 'events' : name === 'event'
  return theme === 'light' ? ALL_LIGHT.includes(name) : ['events', 'overview'].includes(name)
}

const stopMongod = await startMongod()
const stopBrowser = await startBrowser()
try {
  const providers = await makeShopProviders(Date.now())
  await using server = await startHandlerServer()
  await using console = await startConsole({
    ...{ PROVIDERS_FILE: '', PROVIDERS: JSON.stringify(providers.settings) },
    HANDLERS: JSON.stringify(makeShopHandlers(server, Date.now())),
  })
  const shop = await seedShop(console.system, providers)
  await seedHandlers(console.system)
  await seedMinutes(console.system.events.db, Date.now())
  await mkdir(folder, { recursive: true })
  const files = await takeShots(console, shop, { folder, isWanted: given === undefined ? isInDocuments : () => true })
  process.stdout.write(`${files.join('\n')}\n`)
} finally {
  await stopBrowser?.()
  await stopMongod?.()
}
